/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/options.c - what each option of options.def does to the frame */

#include <ctype.h>
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

enum {
	RDONLY_DATA = 1 << 16,	/* Beside a kind, in a row's value */
	FD_MAX = 0x7fffffff,
	PERMS_MAX = 07777,
};

#define OPTION(id)							\
	static int set_##id(struct bwrap *b, const struct bwrap_row *row, \
			    char *const *w, struct err *err)

/* Each function takes what it needs */
#define UNUSED(...)	((void)(b), (void)(row), (void)(w), (void)(err))

static void warn_last(struct bwrap *b, const struct bwrap_row *row)
{
	buf_addf(&b->warned, "Only the last %s option will take effect\n",
		 row->name);
}

static int parse_fd(const char *word, int *ret, struct err *err)
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
	return parse_fd(word, field, err);
}

static int parse_perms(const struct bwrap_row *row, const char *word,
		       mode_t *ret, struct err *err)
{
	char *end;
	const unsigned long mode = strtoul(word, &end, 8);

	if (!isdigit((unsigned char)*word) || *end || mode > PERMS_MAX)
		return fail(err, -EINVAL, "%s takes an octal argument <= 07777",
			    row->name);
	*ret = (mode_t)mode;
	return 0;
}

/* A new operation that takes the mode before it, if there was one */
static struct frame_op *push_made(struct bwrap *b, enum frame_kind kind,
				  mode_t mode, const char *dest)
{
	struct frame_op *op = frame_push(&b->frame, kind);

	op->dest = dest;
	op->asked = b->perms >= 0;
	op->perms = op->asked ? (mode_t)b->perms : mode;
	b->perms = -1;
	return op;
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
	r = parse_fd(w[0], &fd, err);
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
FD(sync_fd, sync)
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
	return fail(err, -EINVAL, "%s failed: %s", call, strerror(EINVAL));
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

OPTION(bind)
{
	struct frame_op *op = frame_push(&b->frame, FRAME_BIND);

	UNUSED();
	op->flags = (unsigned int)row->value;
	op->source = w[0];
	op->dest = w[1];
	return 0;
}

OPTION(bind_fd)
{
	struct frame_op *op;
	int fd;
	const int r = parse_fd(w[0], &fd, err);

	if (r < 0)
		return r;
	op = frame_push(&b->frame, FRAME_BIND);
	op->flags = (unsigned int)row->value;
	op->fd = fd;
	op->dest = w[1];
	return 0;
}

OPTION(overlay_src)
{
	UNUSED();
	*vec_push(&b->frame.layers) = w[0];
	b->layers++;
	return 0;
}

/* Takes the lower directories before it */
static int push_overlay(struct bwrap *b, const struct bwrap_row *row,
			size_t least, struct frame_op **ret, struct err *err)
{
	struct frame_op *op;

	if (b->layers < least)
		return fail(err, -EINVAL, "%s requires at least %s --overlay-src",
			    row->name, least > 1 ? "two" : "one");
	op = frame_push(&b->frame, FRAME_OVERLAY);
	op->layers = b->layers;
	op->layer = b->frame.layers.len - b->layers;
	b->layers = 0;
	*ret = op;
	return 0;
}

OPTION(overlay)
{
	struct frame_op *op;
	const int r = push_overlay(b, row, 1, &op, err);

	if (r < 0)
		return r;
	op->source = w[0];
	op->work = w[1];
	op->dest = w[2];
	return 0;
}

OPTION(overlay_at)
{
	struct frame_op *op;
	const int r = push_overlay(b, row, row->value & FRAME_RDONLY ? 2 : 1,
				   &op, err);

	if (r < 0)
		return r;
	op->flags = (unsigned int)row->value;
	op->dest = w[0];
	return 0;
}

OPTION(label)
{
	UNUSED();
	return fail(err, -EOPNOTSUPP, "%s is not supported: cloche sets no SELinux labels; leave it out",
		    row->name);
}

OPTION(place)
{
	UNUSED();
	frame_push(&b->frame, (enum frame_kind)row->value)->dest = w[0];
	return 0;
}

OPTION(tmpfs)
{
	struct frame_op *op = push_made(b, FRAME_TMPFS, 0755, w[0]);

	UNUSED();
	op->size = b->size;
	b->size = 0;
	return 0;
}

OPTION(make)
{
	UNUSED();
	push_made(b, (enum frame_kind)row->value, 0755, w[0]);
	return 0;
}

OPTION(data)
{
	const enum frame_kind kind = (enum frame_kind)(row->value &
						       ~(uint64_t)RDONLY_DATA);
	struct frame_op *op;
	int fd;
	const int r = parse_fd(w[0], &fd, err);

	if (r < 0)
		return r;
	op = push_made(b, kind, kind == FRAME_FILE ? 0666 : 0600, w[1]);
	op->fd = fd;
	op->flags = row->value & RDONLY_DATA ? FRAME_RDONLY : 0;
	return 0;
}

OPTION(symlink)
{
	struct frame_op *op = frame_push(&b->frame, FRAME_SYMLINK);

	UNUSED();
	op->source = w[0];
	op->dest = w[1];
	return 0;
}

OPTION(seccomp)
{
	int fd = -1;
	const int r = parse_fd(w[0], &fd, err);

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
	r = parse_fd(w[0], &fd, err);
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

OPTION(perms)
{
	mode_t mode;
	int r;

	if (b->perms >= 0)
		return fail(err, -EINVAL, "--perms given twice for the same action");
	r = parse_perms(row, w[0], &mode, err);
	if (r == 0)
		b->perms = (int)mode;
	return r;
}

OPTION(size)
{
	char *end;

	(void)row;
	if (b->size)
		return fail(err, -EINVAL, "--size given twice for the same action");
	errno = 0;
	b->size = strtoull(w[0], &end, 0);
	if (errno || !isdigit((unsigned char)w[0][0]) || *end || !b->size)
		return fail(err, -EINVAL, "--size takes a non-zero number of bytes");
	if (b->size > SIZE_MAX / 2)
		return fail(err, -EINVAL, "--size (for tmpfs) is limited to %zu",
			    (size_t)SIZE_MAX / 2);
	return 0;
}

OPTION(chmod)
{
	struct frame_op *op;
	mode_t mode;
	const int r = parse_perms(row, w[0], &mode, err);

	if (r < 0)
		return r;
	op = frame_push(&b->frame, FRAME_CHMOD);
	op->perms = mode;
	op->dest = w[1];
	return 0;
}

OPTION(nothing)
{
	UNUSED();
	return 0;
}

static const struct bwrap_row rows[] = {
#define BWRAP(name, words, count, id, value, help) \
	{ name, words, count, set_##id, value, help },
#include "cli/bwrap/options.def"
#undef BWRAP
	{ 0 },
};

const struct bwrap_row *bwrap_table(void)
{
	return rows;
}
