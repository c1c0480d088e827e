/* SPDX-License-Identifier: Apache-2.0 */
/* watch/cover.h - what the keeper mounts: masks and read-only binds, one by one
 *
 * All of it is done in the mount namespace of the caller.
 */

#ifndef WATCH_COVER_H
#define WATCH_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/plan.h"

struct err;

/**
 * struct cover_own - File systems that hold nothing of the host's
 */
struct cover_own {
	struct cover_device { dev_t dev; bool talks; } *v;
	size_t len, cap;
};

/* Read from @mountinfo which those are: 0, or a negative errno with words. For the
 * host's look like them, and would be taken for hidden.
 */
int cover_learn(struct cover_own *own, int mountinfo, struct err *err);

/* A descriptor for @path, no link on the way; or -1 */
int cover_open(const char *path);

/* True if something is mounted at @fd */
bool cover_is_mount(int fd);
/* True if writing there is refused by the mount */
bool cover_is_read_only(int fd);
/* True if @fd is a mask, or something in one that is not shown */
bool cover_hides(const struct cover_own *own, int fd);
/* True if @fd is a mask itself */
bool cover_is_mask(const struct cover_own *own, int fd);
/* True if @fd is hidden, or read-only, as @kind wants it */
bool cover_holds(const struct cover_own *own, enum mount_kind kind, int fd);

/* An empty directory, still writable: a mount that is nowhere yet, or -1 */
int cover_make_tmpfs(struct cover_own *own);

/* What is mounted on @at: an empty directory, a device that does not open, or
 * itself, read-only. A mount that is nowhere yet, or -1.
 */
int cover_make(struct cover_own *own, enum mount_kind kind, int at);

/* Nobody may write in the mounts of @tree; 0 or -1 */
int cover_set_read_only(int tree);

/* The same for what is mounted at @at, if that is to be closed as @kind wants it: so
 * no mount is put on another for each edit. True if that is all it takes.
 */
bool cover_close(const struct cover_own *own, enum mount_kind kind, int at);

/* One may write in the mount @tree itself, not in those in it */
int cover_set_writable(int tree);

/* Put the mount @tree onto what @at stands for; 0 or -1 */
int cover_attach(int tree, int at);

/* Until whoever changes the directory of @path is done: to look for a name that
 * nobody has looked for takes its lock. The kernel asks whether a directory is a mount
 * point before it renames it, and may have asked before there was a mount.
 */
void cover_wait(const char *path);

#endif /* WATCH_COVER_H */
