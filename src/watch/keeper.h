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

#include <stddef.h>
#include <sys/types.h>

struct changes;
struct err;
struct mounted_list;

enum { KEEPER_MOUNTS_MAX = 4096 };	/* More are not kept */

/**
 * struct keeper - The process, from outside
 * @pid:	-1 if there is none
 * @socket:	A struct keeper_begun comes from it, and nothing else but its end;
 *		closed by us, it ends
 */
struct keeper {
	pid_t pid;
	int socket;
};

/**
 * struct keeper_work - What it is to do
 * @known:	What was ever mounted
 * @next:	What is to be kept
 * @changes:	What is to be seen to first, or NULL
 * @before:	A pidfd of the keeper that is being ended, or -1: it waits for that
 */
struct keeper_work {
	const struct mounted_list *known, *next;
	const struct changes *changes;
	int before;
};

/**
 * struct keeper_begun - All has been looked at
 * @hidden:	Paths that should have been opened, and were not
 * @open:	Paths that should have been closed, and were not
 */
struct keeper_begun {
	size_t hidden, open;
};

/* Start it for @work, in the user and mount namespaces @user and @mnt. 0, or a
 * negative errno with words.
 */
int keeper_start(struct keeper *keeper, const struct keeper_work *work,
		 int user, int mnt, struct err *err);

/* End it, without waiting for that; safe on { -1, -1 } */
void keeper_stop(struct keeper *keeper);

#endif /* WATCH_KEEPER_H */
