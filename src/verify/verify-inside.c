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
#include "verify/verify.h"

/* After "--attempt", in this order: see verify-launch.c */
enum {
	ARG_KIND, ARG_ROOT, ARG_NAME, ARG_OWN, ARG_TCP4, ARG_OWN_PORT, ARG_UDP,
	ARG_VICTIM, ARG_KEY, ARG_WHEN, ARGS,
};

/* Every sandbox process is our child's; the first one is our parent */
static void read_world(char **argv, struct world *w)
{
	*w = (struct world){
		.tcp4 = (int)strtol(argv[ARG_TCP4], NULL, 10),
		.own_port = (int)strtol(argv[ARG_OWN_PORT], NULL, 10),
		.udp = (int)strtol(argv[ARG_UDP], NULL, 10),
		.victim = (pid_t)strtol(argv[ARG_VICTIM], NULL, 10),
		.key = (int)strtol(argv[ARG_KEY], NULL, 10),
		.init = getppid(), .inside = true,
	};
	snprintf(w->root, sizeof(w->root), "%s", argv[ARG_ROOT]);
	snprintf(w->name, sizeof(w->name), "%s", argv[ARG_NAME]);
	snprintf(w->own, sizeof(w->own), "%s", argv[ARG_OWN]);
}

static void report(size_t row, const struct found *f)
{
	auto_buf struct buf line = { 0 };

	buf_addf(&line, "%zu %d ", row, f->error);
	for (size_t i = 0; i < f->len; i++)
		buf_addf(&line, "%02x", (unsigned char)f->bytes[i]);
	buf_addc(&line, '\n');
	(void)fs_write_all(STDOUT_FILENO, line.p, line.len);
}

/* "main" is every row but those the host takes part in; a number is one row */
static bool is_asked(const char *kind, size_t number,
		     const struct verify_row *row, int when)
{
	if (strcmp(kind, "main") != 0)
		return strtoul(kind, NULL, 10) == number;
	return (row->when & when) && !row->options &&
	       row->proof != PROOF_EITHER;
}

static int be_victim(const char *name)
{
	(void)prctl(PR_SET_NAME, name);
	if (write(STDOUT_FILENO, "!", 1) != 1)
		return 1;
	for (;;)
		(void)pause();
}

int verify_attempt(int argc, char **argv)
{
	struct world w;
	int when;

	if (argc == 2 && !strcmp(argv[ARG_KIND], "victim"))
		return be_victim(argv[1]);
	if (argc != ARGS)
		return 2;
	read_world(argv, &w);
	if (!strcmp(argv[ARG_KIND], "mark")) {
		char path[PATH_MAX];

		world_expand(&w, "P/ran", NULL, path, sizeof(path));
		return attack_mark(path, O_CREAT | O_EXCL) < 0;
	}
	when = (int)strtol(argv[ARG_WHEN], NULL, 10);
	for (size_t i = 0; i < verify_rows_len; i++) {
		struct found f;

		if (!is_asked(argv[ARG_KIND], i, &verify_rows[i], when))
			continue;
		world_try(&w, i, &f);
		report(i, &f);
	}
	return 0;
}

static size_t unhex(const char *text, char *ret, size_t size)
{
	size_t n = 0;

	for (; text[0] && text[1] && n < size; text += 2) {
		const char pair[3] = { text[0], text[1], '\0' };

		ret[n++] = (char)strtoul(pair, NULL, 16);
	}
	return n;
}

static void take_line(struct verify *v, const char *line)
{
	struct verify_result *r;
	char *at;
	const unsigned long row = strtoul(line, &at, 10);

	if (at == line || *at != ' ' || row >= verify_rows_len)
		return;
	r = &v->results[row];
	r->found = (struct found){ 0 };
	r->found.error = (int)strtol(at + 1, &at, 10);
	if (*at == ' ')
		r->found.len = unhex(at + 1, r->found.bytes,
				     sizeof(r->found.bytes));
}

void verify_take_report(struct verify *v, char *text, size_t n)
{
	char *save = NULL;

	if (!n)
		return;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		take_line(v, line);
}
