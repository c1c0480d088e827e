/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/options.c - what each option of options.def does to the frame */

#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/bwrap/bwrap.h"

enum { FD_MAX = 0x7fffffff };

static void warn_last(struct bwrap *b, const struct bwrap_row *row)
{
	buf_addf(&b->warned, "Only the last %s option will take effect\n",
		 row->name);
}

int bwrap_fd(const char *word, int *ret, struct err *err)
{
	uint64_t fd;

	if (text_to_u64(word, FD_MAX, &fd) < 0)
		return fail(err, -EINVAL, "Invalid fd: %s", word);
	*ret = (int)fd;
	return 0;
}

static int set_fd(struct bwrap *b, const struct bwrap_row *row, int *field,
		  const char *word, struct err *err)
{
	if (*field >= 0)
		warn_last(b, row);
	return bwrap_fd(word, field, err);
}

OPTION(help)
{
	UNUSED();
	b->asked = BWRAP_HELP;
	return 0;
}

OPTION(version)
{
	UNUSED();
	b->asked = BWRAP_VERSION;
	return 0;
}

/* The texts stay in memory as long as the frame that points into them */
static int read_args(struct bwrap *b, char *text, size_t len, struct err *err)
{
	struct { char **v; size_t len, cap; } words = { 0 };
	size_t used;
	int r;

	for (char *p = text; p < text + len; p += strlen(p) + 1)
		*vec_push(&words) = p;
	*vec_push(&b->frame.held) = words.v;
	b->in_args = true;
	r = bwrap_read(b, words.v, words.len, &used, err);
	b->in_args = false;
	return r;
}

OPTION(args)
{
	auto_buf struct buf text = { 0 };
	size_t len;
	char *data;
	int fd, r;

	(void)row;
	if (b->in_args)
		return fail(err, -EINVAL, "--args not supported in arguments file");
	r = bwrap_fd(w[0], &fd, err);
	if (r < 0)
		return r;
	r = fs_read_fd(fd, BWRAP_ARGS_BYTES, &text, NULL);
	if (r < 0)
		return fail(err, r, "Can't read --args data: %s", strerror(-r));
	(void)close(fd);
	len = text.len;
	data = buf_take(&text);
	*vec_push(&b->frame.held) = data;
	return read_args(b, data, len, err);
}

OPTION(argv0)
{
	(void)row;
	if (b->frame.argv0)
		return fail(err, -EINVAL, "--argv0 used multiple times");
	b->frame.argv0 = w[0];
	return 0;
}

OPTION(unshare_all)
{
	UNUSED();
	b->frame.user_try = b->frame.cgroup_try = true;
	b->frame.namespaces |= CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET |
			       CLONE_NEWUTS;
	return 0;
}

OPTION(share_net)
{
	UNUSED();
	b->frame.namespaces &= ~(uint64_t)CLONE_NEWNET;
	return 0;
}

OPTION(unshare)
{
	UNUSED();
	b->frame.namespaces |= row->value;
	return 0;
}

#define FLAG(id, field)							\
	OPTION(id)							\
	{								\
		UNUSED();						\
		b->field = true;					\
		return 0;						\
	}

FLAG(level, level_prefix)
FLAG(user_try, frame.user_try)
FLAG(cgroup_try, frame.cgroup_try)
FLAG(disable_userns, frame.no_userns)
FLAG(assert_userns, frame.assert_no_userns)
FLAG(new_session, frame.new_session)
FLAG(die_with_parent, frame.die_with_parent)
FLAG(as_pid_1, frame.as_pid_1)

#define FD(id, field)							\
	OPTION(id)							\
	{								\
		return set_fd(b, row, &b->frame.field, w[0], err);	\
	}

FD(userns, userns)
FD(userns2, userns2)
FD(pidns, pidns)
FD(block_fd, block)
FD(userns_block_fd, userns_block)
FD(info_fd, info)
FD(json_status_fd, status)

/* The number that means "unchanged" to the kernel is nobody's */
static int set_id(struct bwrap *b, const struct bwrap_row *row, int64_t *field,
		  const char *word, struct err *err)
{
	uint64_t id;

	if (*field >= 0)
		warn_last(b, row);
	if (text_to_u64(word, FD_MAX, &id) < 0)
		return fail(err, -EINVAL, "Invalid %s: %s", row->name + 2,
			    word);
	*field = (int64_t)id;
	return 0;
}

OPTION(uid)
{
	return set_id(b, row, &b->frame.uid, w[0], err);
}

OPTION(gid)
{
	return set_id(b, row, &b->frame.gid, w[0], err);
}

OPTION(hostname)
{
	(void)err;
	if (b->frame.hostname)
		warn_last(b, row);
	b->frame.hostname = w[0];
	frame_push(&b->frame, FRAME_HOSTNAME)->source = w[0];
	return 0;
}

OPTION(chdir)
{
	(void)err;
	if (b->frame.cwd)
		warn_last(b, row);
	b->frame.cwd = w[0];
	return 0;
}

OPTION(clearenv)
{
	UNUSED();
	frame_env_clear(&b->frame);
	return 0;
}

static int check_variable(const char *name, const char *call, struct err *err)
{
	if (*name && !strchr(name, '='))
		return 0;
	return fail(err, -EINVAL, "%s failed", call);
}

OPTION(setenv)
{
	const int r = check_variable(w[0], "setenv", err);

	(void)row;
	if (r == 0)
		frame_env_set(&b->frame, w[0], w[1]);
	return r;
}

OPTION(unsetenv)
{
	const int r = check_variable(w[0], "unsetenv", err);

	(void)row;
	if (r == 0)
		frame_env_unset(&b->frame, w[0]);
	return r;
}

OPTION(lock_file)
{
	UNUSED();
	*vec_push(&b->frame.locks) = w[0];
	return 0;
}

OPTION(sync_fd)
{
	int fd;
	const int r = bwrap_fd(w[0], &fd, err);

	(void)row;
	if (r == 0)
		*vec_push(&b->frame.syncs) = fd;
	return r;
}

OPTION(seccomp)
{
	int fd = -1;
	const int r = bwrap_fd(w[0], &fd, err);

	if (b->frame.filters.len && !b->one_filter)
		return fail(err, -EINVAL, "--seccomp cannot be combined with --add-seccomp-fd");
	if (b->one_filter)
		warn_last(b, row);
	if (r < 0)
		return r;
	b->one_filter = true;
	b->frame.filters.len = 0;
	*vec_push(&b->frame.filters) = fd;
	return 0;
}

OPTION(add_seccomp)
{
	int fd, r;

	(void)row;
	if (b->one_filter)
		return fail(err, -EINVAL, "--add-seccomp-fd cannot be combined with --seccomp");
	r = bwrap_fd(w[0], &fd, err);
	if (r == 0)
		*vec_push(&b->frame.filters) = fd;
	return r;
}

OPTION(cap)
{
	unsigned int cap;
	uint64_t mask = ~0ULL;

	if (strcasecmp(w[0], "ALL") != 0) {
		if (bwrap_capability(w[0], &cap) < 0)
			return fail(err, -EINVAL, "unknown cap: %s", w[0]);
		mask = 1ULL << cap;
	}
	b->frame.caps_used = true;
	if (row->value)
		b->frame.caps |= mask;
	else
		b->frame.caps &= ~mask;
	return 0;
}

OPTION(nothing)
{
	UNUSED();
	return 0;
}

static const struct bwrap_row rows[] = {
#define BWRAP(name, words, count, id, value, help) \
	{ name, words, count, bwrap_set_##id, value, help },
#include "cli/bwrap/options.def"
#undef BWRAP
	{ 0 },
};

const struct bwrap_row *bwrap_table(void)
{
	return rows;
}
