/* SPDX-License-Identifier: Apache-2.0 */
/* watch/ways.h - to directories that are shown in a mask that talks
 *
 * The kernel lets nobody through such a mask who is not in the sandbox
 * (cage/mask.h), so we do not get by name to what it shows. Init hands out a
 * descriptor for each directory, from which one can walk on.
 */

#ifndef WATCH_WAYS_H
#define WATCH_WAYS_H

#include <stddef.h>
#include <stdint.h>

struct plan;
struct stat;
struct ways;

/* @fds came with CAGE_MASKS, for the directories that @plan's masks show in that
 * order (plan/mask.h), and are taken over. NULL if there are none.
 */
struct ways *ways_new(const struct plan *plan, const int *fds, size_t n);
void ways_free(struct ways *ways);

/* In these @ways may be NULL, @path is absolute text as it is meant in @root. */

/* How much of the start of @path is a way, or leads to one: real directories, no
 * links. 0 if none of it.
 */
size_t ways_length(const struct ways *ways, const char *path);

/* The directory @path, O_PATH; with @resolve as openat2() has it. Or a negative
 * errno: -EACCES as well if it leads through a way and out of it again, up or by
 * a link.
 */
int ways_open(const struct ways *ways, int root, const char *path,
	      uint64_t resolve);

/* What stands at @path, which may be a link: 0 or a negative errno */
int ways_stat(const struct ways *ways, int root, const char *path,
	      struct stat *ret);

#endif /* WATCH_WAYS_H */
