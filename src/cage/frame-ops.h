/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-ops.h - the operations of a frame, one by one */

#ifndef CAGE_FRAME_OPS_H
#define CAGE_FRAME_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct frame;
struct frame_op;
struct frame_source;
struct frame_tree;

/* MOUNT_ATTR_* of what is bound by @op */
uint64_t frame_bind_attr(const struct frame_op *op);

/* A place that becomes a mount, as the host has it now */
int frame_source_clone(struct frame_source *source, const struct frame_op *op,
		       struct err *err);

/* The mount to attach: the source itself, or a new one of its place */
int frame_take_mount(struct frame_source *source, const struct frame_op *op,
		     struct err *err);

/* Has the command a pid namespace other than ours? */
bool frame_has_pidns(const struct frame *frame);

/* Do both lead to the same place of the same mount? */
bool frame_is_same(int a, int b);

/* Attach @mount (taken over) at @at; if that is the root, it is from now on */
int frame_attach(struct frame_tree *tree, int mount, int at,
		 const struct frame_op *op, struct err *err);

/* Carry out operation @i */
int frame_do(struct frame_tree *tree, size_t i, struct err *err);

#endif /* CAGE_FRAME_OPS_H */
