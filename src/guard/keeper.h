/* SPDX-License-Identifier: Apache-2.0 */
/* watch/keeper.h - puts back what the host lifts: masks and read-only binds
 *
 * A mount on a file vanishes when somebody outside replaces the file (an
 * editor that saves, `git config`). The keeper is a process in the sandbox's
 * user and mount namespaces, but not in its pid namespace; it sees the change
 * at once and mounts again. Between the two the new file is open: see
 * docs for how long that is.
 */

#ifndef WATCH_KEEPER_H
#define WATCH_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/plan.h"

struct err;

enum { KEEPER_MOUNTS_MAX = 4096 };	/* More are not kept */

/**
 * struct keeper_mount - A mount to keep; or, of kind MOUNT_SHOW and MOUNT_BIND_RW,
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
 * struct keeper_list - All of them, parents first
 */
struct keeper_list {
	struct keeper_mount *v;
	size_t len, cap;
};

/**
 * struct keeper - The process, from outside
 * @pid:	-1 if there is none
 * @socket:	A size_t comes from it when it has looked at all mounts: how many
 *		paths it could not close. Closed by us, it ends.
 */
struct keeper {
	pid_t pid;
	int socket;
};

/* Start it for @list, in the user and mount namespaces @user and @mnt; it waits
 * for the end of the one before, whose pidfd is @before, or -1. 0, or a negative
 * errno with words.
 */
int keeper_start(struct keeper *keeper, const struct keeper_list *list,
		 int before, int user, int mnt, struct err *err);

/* End it, without waiting for that; safe on { -1, -1 } */
void keeper_stop(struct keeper *keeper);

#endif /* WATCH_KEEPER_H */
