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

#include <sys/types.h>

struct err;
struct plan;

enum { KEEPER_MOUNTS_MAX = 4096 };	/* More are not kept */

/**
 * struct keeper - The process, from outside
 * @pid:	-1 if there is none
 * @socket:	Readable once everything is covered; closed by us, it ends
 */
struct keeper {
	pid_t pid;
	int socket;
};

/* Start it for the mounts of @plan, in the user and mount namespaces @user and
 * @mnt. It begins with a look at all of them. 0, or a negative errno with words.
 */
int keeper_start(struct keeper *keeper, const struct plan *plan, int user,
		 int mnt, struct err *err);

/* End it, without waiting for that; safe on { -1, -1 } */
void keeper_stop(struct keeper *keeper);

#endif /* WATCH_KEEPER_H */
