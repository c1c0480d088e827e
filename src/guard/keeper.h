/* SPDX-License-Identifier: Apache-2.0 */
/* guard/keeper.h - restore masks and read-only binds that the host unmounted
 *
 * A mount on a file vanishes when a process outside replaces the file (an
 * editor that saves, `git config`). The keeper is a process in the sandbox's
 * user and mount namespaces, but not in its pid namespace; it sees the change
 * at once and mounts again. Until then the command can open the new file:
 * docs/decisions/visibility.md says for how long.
 */

#ifndef GUARD_KEEPER_H
#define GUARD_KEEPER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/plan.h"

struct err;
struct proc;

enum { KEEPER_MOUNTS_MAX = 4096 };	/* More are not restored */

/**
 * struct keeper_mount - A mount to restore; or, of kind MOUNT_SHOW and MOUNT_BIND_RW,
 *		what a mask that is added around it leaves visible
 * @path:	Where
 * @is_dir:	What it hides, or is
 */
struct keeper_mount {
	enum mount_kind kind;
	char *path;
	bool is_dir;
};

/**
 * struct keeper_list - All mounts to restore, parents first
 */
struct keeper_list {
	struct keeper_mount *v;
	size_t len, cap;
};

/**
 * struct keeper_note - The keeper's message to the supervisor
 * @open:	How many could not be covered, when it has looked at all of them
 * @covered:	A file that it has just made read-only again, or ""
 */
struct keeper_note {
	size_t open;
	char covered[PATH_MAX];
};

/* Start a keeper for @list, in the user and mount namespaces @user and @mnt; it waits
 * for the end of the keeper before it, whose pidfd is @before, or -1. 0, or a negative
 * errno with a message.
 */
int keeper_start(struct proc *keeper, const struct keeper_list *list,
		 int before, int user, int mnt, struct err *err);

#endif /* GUARD_KEEPER_H */
