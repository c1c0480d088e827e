/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/main.c - cloche as bwrap: bubblewrap's command line */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/bwrap/bwrap.h"
#include "cli/persona.h"
#include "lib/framed.h"

/* The release whose options these are; clients compare it */
static const char release[] = "bubblewrap 0.11.0";

static void say(const struct bwrap *b, int level, const char *text)
{
	if (b->level_prefix)
		fprintf(stderr, "<%d>", level);
	fprintf(stderr, "bwrap: %s\n", text);
}

static void print_usage(FILE *out, const char *name)
{
	fprintf(out, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n", name);
	for (const struct bwrap_row *row = bwrap_table(); row->name; row++) {
		char left[80];

		snprintf(left, sizeof(left), "%s %s", row->name, row->words);
		fprintf(out, "    %-28s %s\n", left, row->help);
	}
}

static void print_warnings(struct bwrap *b)
{
	for (char *line = b->warned.p; line && *line;) {
		char *end = strchr(line, '\n');

		*end = '\0';
		say(b, LOG_WARNING, line);
		line = end + 1;
	}
}

/* Root keeps what it has, unless it says otherwise */
static uint64_t own_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (getuid() != 0 || syscall(SYS_capget, &header, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* A number that is not open must not become one that we open ourselves: then
 * it means a descriptor that nobody has
 */
static void settle_fd(int *fd)
{
	if (*fd > STDERR_FILENO && fcntl(*fd, F_GETFD) < 0)
		*fd = INT_MAX;
}

static int settle_op(struct frame_op *op, struct err *err)
{
	const int fd = op->fd;

	settle_fd(&op->fd);
	if (op->kind != FRAME_BIND || op->fd == fd)
		return 0;
	return fail(err, -ENOENT, "Can't find source path /proc/self/fd/%d: %s",
		    fd, strerror(ENOENT));
}

static int settle_fds(struct frame *frame, struct err *err)
{
	int *const fds[] = {
		&frame->userns, &frame->userns2, &frame->pidns, &frame->block,
		&frame->userns_block, &frame->info, &frame->status,
	};

	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		settle_fd(fds[i]);
	for (size_t i = 0; i < frame->filters.len; i++)
		settle_fd(&frame->filters.v[i]);
	for (size_t i = 0; i < frame->syncs.len; i++)
		settle_fd(&frame->syncs.v[i]);
	for (size_t i = 0; r == 0 && i < frame->ops.len; i++)
		r = settle_op(&frame->ops.v[i], err);
	return r;
}

static int run(struct bwrap *b, const char *name, struct err *err)
{
	int r;

	if (getuid() != geteuid())
		return fail(err, -EPERM, "setuid use of bubblewrap is not supported");
	r = frame_check(&b->frame, getuid(), err);
	if (r < 0)
		return r;
	if (!b->frame.argv[0]) {
		print_usage(stderr, name);
		return EXIT_FRAME_FAILED;
	}
	r = settle_fds(&b->frame, err);
	return r < 0 ? r : framed_run(&b->frame, err);
}

int persona_bwrap(int argc, char **argv)
{
	struct err err = { 0 };
	struct bwrap b;
	int r;

	if (argc < 2) {
		print_usage(stderr, argv[0]);
		return EXIT_FRAME_FAILED;
	}
	r = bwrap_parse(&b, argv + 1, environ, own_capabilities(), &err);
	print_warnings(&b);
	if (r == BWRAP_HELP) {
		print_usage(stdout, argv[0]);
		r = 0;
	} else if (r == BWRAP_VERSION) {
		puts(release);
		r = 0;
	} else if (r == 0) {
		r = run(&b, argv[0], &err);
	}
	if (r < 0) {
		say(&b, LOG_ERR, err.msg);
		r = EXIT_FRAME_FAILED;
	}
	frame_done(&b.frame);
	buf_done(&b.warned);
	return r;
}
