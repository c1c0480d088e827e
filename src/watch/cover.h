/* SPDX-License-Identifier: Apache-2.0 */
/* watch/cover.h - what the keeper mounts: masks and read-only binds, one by one
 *
 * All of it is done in the mount namespace of the caller.
 */

#ifndef WATCH_COVER_H
#define WATCH_COVER_H

#include <stdbool.h>

#include "plan/plan.h"

struct statx;

/* 1 if something is mounted at @path, 0 if not, -ENOENT if nothing is there */
int cover_look(const char *path, struct statx *x);

/* An empty directory that nobody can write to: a mount that is nowhere yet, or -1 */
int cover_make_tmpfs(void);

/* What is mounted on @at: an empty directory, a device that does not open, or
 * itself, read-only. A mount that is nowhere yet, or -1.
 */
int cover_make(enum mount_kind kind, int at, bool dir);

/* Nobody may write in the mounts of @tree */
int cover_set_read_only(int tree);

/* Put the mount @tree onto what @at stands for; 0 or -1 */
int cover_attach(int tree, int at);

#endif /* WATCH_COVER_H */
