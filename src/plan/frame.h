/* SPDX-License-Identifier: Apache-2.0 */
/* plan/frame.h - a sandbox that its caller put together, as data
 *
 * A plan (plan/plan.h) comes from a policy, and everything in it is there to
 * hold. A frame comes from a caller that says itself which operations make up
 * its world, in which order: bubblewrap's command line. It holds what was asked
 * for and nothing else. cage/frame.h executes it, frame_print() shows it.
 */

#ifndef PLAN_FRAME_H
#define PLAN_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

enum frame_kind {
#define FRAME_OP(id, words) FRAME_##id,
#include "plan/frame.def"
#undef FRAME_OP
	FRAME_KINDS,
};

enum {
	FRAME_TRY = 1,		/* A source that is not there is no failure */
	FRAME_RDONLY = 2,
	FRAME_DEVICES = 4,	/* Devices below it work */
	FRAME_SCRATCH = 8,	/* Overlay: changes go nowhere */
};

/**
 * struct frame_op - One operation on the new root
 * @flags:	FRAME_TRY and the like
 * @source:	What is bound; a link's target; an overlay's upper directory
 * @dest:	Where; always below the new root, whatever links say
 * @work:	Overlay: its work directory
 * @fd:		Where a file's bytes come from, or what is bound; else -1
 * @perms:	Of what is made; its parents follow it
 * @asked:	@perms was asked for
 * @size:	tmpfs: at most so many bytes; 0 is the kernel's default
 * @layer, @layers: Overlay: the first of its lower directories, and how many
 */
struct frame_op {
	enum frame_kind kind;
	unsigned int flags;
	const char *source, *dest, *work;
	int fd;
	mode_t perms;
	bool asked;
	uint64_t size;
	size_t layer, layers;
};

/**
 * struct frame - The whole of it; texts are the caller's and outlive it
 * @ops:	In order
 * @layers:	Lower directories of all overlays, the lowest first
 * @namespaces:	CLONE_NEW* flags to make
 * @user_try, @cgroup_try: Make these too, if that can be done
 * @userns, @userns2, @pidns: Namespaces to join, or -1
 * @no_userns:	The command may make no user namespace
 * @assert_no_userns: Fail if it could
 * @uid, @gid:	Inside; -1 is as outside
 * @caps:	Capabilities that the command keeps, if @caps_used
 * @filters:	Descriptors with seccomp programs, in the order of loading
 * @locks:	Files to hold a read lock on
 * @env:	The command's environment, owned, NULL at the end
 * @argv0:	What the command is called, or NULL
 * @hostname:	Set by an operation; here to see whether there is one
 * @cwd:	Where to start, or NULL
 * @block:	Read before the command starts
 * @userns_block: Read before anything else: somebody maps users until then
 * @info, @status: Where to tell about the sandbox, and its end
 * @syncs:	Held open as long as the sandbox
 * @held:	Memory that @ops and the like point into, owned
 */
struct frame {
	struct { struct frame_op *v; size_t len, cap; } ops;
	struct { const char **v; size_t len, cap; } layers;
	uint64_t namespaces;
	bool user_try, cgroup_try;
	int userns, userns2, pidns;
	bool no_userns, assert_no_userns;
	int64_t uid, gid;
	uint64_t caps;
	bool caps_used;
	struct { int *v; size_t len, cap; } filters;
	struct { const char **v; size_t len, cap; } locks;
	char **env;
	const char *argv0, *hostname, *cwd;
	char *const *argv;
	int block, userns_block, info, status;
	struct { int *v; size_t len, cap; } syncs;
	bool new_session, die_with_parent, as_pid_1;
	struct { void **v; size_t len, cap; } held;
};

/* An empty frame with a copy of @env. Done with frame_done(). */
void frame_init(struct frame *frame, char *const *env);
void frame_done(struct frame *frame);

/* The environment, changed in place; later changes win */
void frame_env_set(struct frame *frame, const char *name, const char *value);
void frame_env_unset(struct frame *frame, const char *name);
void frame_env_clear(struct frame *frame);

/* A new operation of this kind at the end, with no descriptor */
struct frame_op *frame_push(struct frame *frame, enum frame_kind kind);

/* Combinations that cannot be, in bubblewrap's words; and the user namespace
 * without which the caller, @uid, can make no other. 0 or -EINVAL.
 */
int frame_check(struct frame *frame, uid_t uid, struct err *err);

/* A line per thing */
void frame_print(const struct frame *frame, struct buf *out);

#endif /* PLAN_FRAME_H */
