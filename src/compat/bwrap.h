/* SPDX-License-Identifier: Apache-2.0 */
/* compat/bwrap.h - bubblewrap: its command line, as a plan that is carried out
 *
 * A plan of cloche (plan/plan.h) comes from a policy, and every run carries out all
 * of it. A bwrap plan has the operations of a command line, in its order, and nothing
 * else. Both use the same functions (sandbox/mount-fd.h, sandbox/stages.h,
 * sandbox/netns.h).
 */

#ifndef COMPAT_BWRAP_H
#define COMPAT_BWRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct err;

enum bwrap_kind {
	BWRAP_BIND, BWRAP_OVERLAY, BWRAP_REMOUNT, BWRAP_PROC, BWRAP_DEV,
	BWRAP_TMPFS, BWRAP_MQUEUE, BWRAP_DIR, BWRAP_FILE, BWRAP_DATA,
	BWRAP_SYMLINK, BWRAP_CHMOD, BWRAP_HOSTNAME, BWRAP_KINDS,
};

enum {
	BWRAP_TRY = 1,		/* A missing source is no failure */
	BWRAP_RDONLY = 2,
	BWRAP_DEVICES = 4,	/* Devices below it work */
	BWRAP_SCRATCH = 8,	/* Overlay: changes are lost */

	BWRAP_WORDS_MAX = 9000,	/* As in bubblewrap */
	BWRAP_HELP = 1,		/* bwrap_parse(): asked for that */
	BWRAP_VERSION = 2,
	BWRAP_FAILED = 1,	/* Exit status where nothing ran */
};

/**
 * struct bwrap_op - One operation on the new root
 * @flags:	BWRAP_TRY and the like
 * @source:	What is bound; a link's target; an overlay's upper directory
 * @dest:	Where; always below the new root, whatever links say
 * @work:	Overlay: its work directory
 * @fd:		Where a file's bytes come from, or what is bound; else -1
 * @mount:	The source, if it had to be cloned before the new root was there
 * @perms:	Mode of what is made; its parents follow it
 * @size:	tmpfs: at most so many bytes; 0 is the kernel's default
 * @layer, @layers: Overlay: the first of its lower directories, and how many
 */
struct bwrap_op {
	enum bwrap_kind kind;
	unsigned int flags;
	const char *source, *dest, *work;
	int fd, mount;
	mode_t perms;
	uint64_t size;
	size_t layer, layers;
};

/**
 * struct bwrap_plan - A command line; texts are the caller's and outlive it
 * @ops:	In order
 * @layers:	Lower directories of all overlays, the lowest first
 * @namespaces:	CLONE_NEW* flags to make
 * @user_try, @cgroup_try: Make these too, if that can be done
 * @userns, @userns2, @pidns: Namespaces to join, or -1
 * @no_userns:	The command may make no user namespace
 * @assert_no_userns: Fail if it could
 * @uid, @gid:	Inside; -1 is as outside
 * @host_uid, @host_gid: The user and group outside, which are not known inside
 * @caps:	Capabilities that the command keeps, if @caps_used
 * @filters:	Descriptors with seccomp programs, in the order of loading
 * @locks:	Files to hold a read lock on
 * @hostname:	As in the operation that sets it, or NULL
 * @cwd:	Where to start, or NULL
 * @block:	Read before the command starts
 * @userns_block: Read before anything else: another process maps users until then
 * @info, @status: Descriptors for facts about the sandbox, and its end
 * @syncs:	Kept open as long as the sandbox exists
 * @memory:	What @ops and the like point into, owned
 */
struct bwrap_plan {
	struct { struct bwrap_op *v; size_t len, cap; } ops;
	struct { const char **v; size_t len, cap; } layers, locks;
	struct { int *v; size_t len, cap; } filters, syncs;
	struct { void **v; size_t len, cap; } memory;
	uint64_t namespaces, caps;
	int64_t uid, gid;
	uid_t host_uid;
	gid_t host_gid;
	int userns, userns2, pidns, block, userns_block, info, status;
	bool user_try, cgroup_try, no_userns, assert_no_userns, caps_used;
	bool new_session, die_with_parent, as_pid_1;
	const char *argv0, *hostname, *cwd;
	char *const *argv;
};

/**
 * struct bwrap - A command line, as far as it is read
 * @perms, @size: From --perms and --size, for the next option; -1 and 0
 * @layers:	From --overlay-src, for the next option
 * @words:	Read so far
 * @in_args:	From --args
 * @one_filter:	It came by --seccomp
 * @level_prefix: Messages begin with their level
 * @warned:	Options that were given twice: a message a line
 * @asked:	BWRAP_HELP or BWRAP_VERSION
 */
struct bwrap {
	struct bwrap_plan plan;
	int perms;
	uint64_t size;
	size_t layers, words;
	bool in_args, level_prefix, one_filter;
	struct buf warned;
	int asked;
};

/**
 * struct bwrap_row - One option
 * @words:	What follows it, for people
 * @set:	Takes them; 0, or a negative errno with a message
 */
struct bwrap_row {
	const char *name, *words;
	int (*set)(struct bwrap *b, const struct bwrap_row *row,
		   char *const *words, struct err *err);
	uint64_t value;
	const char *help;
};

/* bwrap-options.c: the whole table, ending with an empty row */
const struct bwrap_row *bwrap_table(void);

/* How many words follow an option */
size_t bwrap_count(const struct bwrap_row *row);

/* Read options from @words, which ends with NULL; what is left is the command.
 * Options on the environment change ours. @caps are the capabilities that
 * --cap-add and --cap-drop change. 0, BWRAP_HELP or BWRAP_VERSION, or a negative
 * errno with a message. Done with bwrap_done() in any case.
 */
int bwrap_parse(struct bwrap *b, char *const *words, uint64_t caps,
		struct err *err);
void bwrap_done(struct bwrap *b);

/* Combinations that cannot be, with bubblewrap's messages; and the user namespace
 * without which the caller, @uid, can make no other. 0 or -EINVAL.
 */
int bwrap_check(struct bwrap_plan *plan, uid_t uid, struct err *err);

/* bwrap-mounts.c: build the root that @plan asks for and enter it */
int bwrap_build(struct bwrap_plan *plan, struct err *err);

/* bwrap-child.c: the sandbox's first process, all the way to the command. What it
 * sends on @socket is struct sandbox_message: SANDBOX_STARTED with its pidfd if it
 * joined a pid namespace; SANDBOX_FAILED with a message; SANDBOX_READY when only the
 * command's execve() is left; SANDBOX_EXITED where a process 1 of ours waits for
 * it. With @wait_first it does nothing before a byte has come.
 */
void bwrap_child(struct bwrap_plan *plan, int socket, bool wait_first)
	__attribute__((noreturn));
bool bwrap_has_userns(const struct bwrap_plan *plan);
/* Drop what the command may not have; all of it, if not for the command */
int bwrap_drop_caps(const struct bwrap_plan *plan, bool command, struct err *err);
#endif /* COMPAT_BWRAP_H */
