/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify-inside.c - in the sandbox: make the attempts, report each
 *
 * One line on stdout for each: row, errno, and in hexadecimal what came back.
 * Nothing in it is believed but bytes that only the host could know.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/text.h"
#include "verify/verify.h"

/* After "--attempt", in this order: see verify-launch.c */
enum {
	ARG_KIND, ARG_ROOT, ARG_NAME, ARG_OWN, ARG_TCP4, ARG_OWN_PORT, ARG_UDP,
	ARG_VICTIM, ARG_KEY, ARG_FULL, ARGS,
};

static int number(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

/* The first process of the sandbox is our parent */
static void read_world(char **argv, struct world *w)
{
	*w = (struct world){
		.tcp4 = number(argv[ARG_TCP4]),
		.own_port = number(argv[ARG_OWN_PORT]),
		.udp = number(argv[ARG_UDP]),
		.victim = number(argv[ARG_VICTIM]),
		.key = number(argv[ARG_KEY]),
		.init = getppid(), .inside = true,
	};
	snprintf(w->root, sizeof(w->root), "%s", argv[ARG_ROOT]);
	snprintf(w->name, sizeof(w->name), "%s", argv[ARG_NAME]);
	snprintf(w->own, sizeof(w->own), "%s", argv[ARG_OWN]);
}

static void report(size_t row, const struct found *f)
{
	char hex[2 * sizeof(f->bytes) + 1];
	auto_buf struct buf line = { 0 };

	text_hex(f->bytes, f->len, hex);
	buf_addf(&line, "%zu %d %s\n", row, f->error, hex);
	(void)fs_write_all(STDOUT_FILENO, line.p, line.len);
}

static int be_victim(const char *name)
{
	(void)prctl(PR_SET_NAME, name);
	if (write(STDOUT_FILENO, "!", 1) != 1)
		return 1;
	for (;;)
		(void)pause();
}

/* "main" is every row but those that have a sandbox of their own */
int verify_attempt(int argc, char **argv)
{
	const char *kind = argv[ARG_KIND];
	struct world w;
	int when;

	if (argc == 2 && !strcmp(kind, "victim"))
		return be_victim(argv[1]);
	if (argc != ARGS)
		return 2;
	read_world(argv, &w);
	if (!strcmp(kind, "mark"))
		return attack_mark(world_path(&w, "P/ran", NULL),
				   O_CREAT | O_EXCL) < 0;
	when = WHEN_QUICK | (number(argv[ARG_FULL]) ? WHEN_FULL : 0);
	for (size_t i = 0; i < verify_rows_len; i++) {
		const struct verify_row *row = &verify_rows[i];
		struct found f;

		if (strcmp(kind, "main") ? (size_t)number(kind) != i :
		    !(row->when & when) || row->options)
			continue;
		world_try(&w, i, NULL, NULL, &f);
		report(i, &f);
	}
	return 0;
}

static void take_line(struct verify *v, const char *line)
{
	struct found *f;
	char *at;
	const unsigned long row = strtoul(line, &at, 10);

	if (at == line || *at != ' ' || row >= verify_rows_len)
		return;
	f = &v->results[row].found;
	*f = (struct found){ .error = (int)strtol(at + 1, &at, 10) };
	for (at += *at == ' '; text_hex_digit(at[0]) >= 0 &&
	     text_hex_digit(at[1]) >= 0 && f->len < sizeof(f->bytes); at += 2)
		f->bytes[f->len++] = (char)(text_hex_digit(at[0]) << 4 |
					    text_hex_digit(at[1]));
}

void verify_take_report(struct verify *v, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		take_line(v, line);
}
