/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside.h - --ephemeral: changes that are kept aside, and what becomes of them
 *
 * A project has one such store, below cloche's state directory: a numbered
 * directory for each writable root, which an overlay wrote to, and the roots'
 * paths. Another run with --ephemeral goes on where the last one ended.
 */

#ifndef LIB_ASIDE_H
#define LIB_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct plan;
struct policy;

enum {
	ASIDE_CHANGES_MAX = 1 << 16,	/* Told of, or applied, at once */
	ASIDE_DEPTH_MAX = 64,
};

enum aside_kind { ASIDE_ADDED, ASIDE_MODIFIED, ASIDE_DELETED };

/**
 * struct aside_change - One path that is different
 * @path:	Absolute, on the host
 * @root:	Which root it lies in
 * @whole:	The replaced directory that it lies in, which can only be taken
 *		as a whole; or NULL
 * @stale:	The host's has changed since
 * @linked:	The host's has other names, which stay as they are
 * @mode:	Of a directory: the one that it was given
 */
struct aside_change {
	enum aside_kind kind;
	char *path, *whole;
	unsigned int root;
	bool stale, linked;
	mode_t mode;
};

/**
 * struct aside_mode - A directory of the store that had to be opened up
 * @path:	In the store
 */
struct aside_mode {
	char *path;
	mode_t mode;
};

/**
 * struct aside - The store of a project
 * @dir:	Where it is
 * @lock:	Held while it is used; -1: not open
 * @roots:	Paths, by number
 * @opened:	What gets its mode back in the end
 */
struct aside {
	char *dir;
	int lock;
	struct { char **v; size_t len, cap; } roots;
	struct { struct aside_change *v; size_t len, cap; } changes;
	struct { struct aside_mode *v; size_t len, cap; } opened;
};

#define ASIDE_NONE	((struct aside){ .lock = -1 })

/* Make the store for a run of @plan, or go on with it. 0, or a negative errno
 * with words.
 */
int aside_start(const struct plan *plan, struct aside *ret, struct err *err);

/* Where the store of a project is; NULL if there is no place for one. The caller
 * frees.
 */
char *aside_place(const struct policy *policy);

/* After the run: how many changes there are; an empty store goes */
size_t aside_finish(struct aside *aside);

/* What the project of @policy has aside: 1, 0 if nothing, or a negative errno
 * with words
 */
int aside_open(const struct policy *policy, struct aside *ret,
	       struct err *err);
/* The same without a look at the changes, which may be too many: all that can be
 * done is to drop them
 */
int aside_find(const struct policy *policy, struct aside *ret,
	       struct err *err);
void aside_done(struct aside *aside);

/* Forget one change (of a directory, if nothing is left in it), or with NULL
 * all of them
 */
int aside_drop(struct aside *aside, const struct aside_change *change,
	       struct err *err);

const char *aside_kind_name(enum aside_kind kind);

#endif /* LIB_ASIDE_H */
