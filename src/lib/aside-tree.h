/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside-tree.h - the trees of a store of changes: walked, removed */

#ifndef LIB_ASIDE_TREE_H
#define LIB_ASIDE_TREE_H

#include <stdbool.h>
#include <time.h>

struct aside;
struct aside_change;
struct err;

/* Fill in the changes. 0, or a negative errno with words. */
int aside_walk(struct aside *aside, struct err *err);

/* Give directories back the modes that hindered the walk */
void aside_close(struct aside *aside);

/**
 * struct aside_below - What is asked of all that a directory of the host holds
 * @since:	Has it changed after that? Or NULL
 * @may:	May it be removed? Or NULL
 */
struct aside_below {
	const struct timespec *since;
	bool (*may)(void *arg, const char *path);
	void *arg;
};

/* A directory goes with all that is in it: 0 if that may be, 1 if something has
 * changed, -EACCES if something may not or cannot be looked at. @path is the
 * whole path of the directory @name in @at.
 */
int aside_look_below(const struct aside_below *below, int at,
		     const char *name, const char *path);

/* The directory of the store that @change is in, and its name there; or a
 * negative errno with words
 */
int aside_open_upper(const struct aside *aside,
		     const struct aside_change *change, const char **name,
		     struct err *err);

/* Remove @name and all below it. 0 or a negative errno. */
int aside_remove(int at, const char *name);

#endif /* LIB_ASIDE_TREE_H */
