/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/options-files.c - options that are operations on the new root */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/bwrap/bwrap.h"

enum { PERMS_MAX = 07777 };

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
	const int r = bwrap_fd(w[0], &fd, err);

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
	const int r = bwrap_fd(w[0], &fd, err);

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
