/* SPDX-License-Identifier: Apache-2.0 */
/* ephemeral/ephemeral.h - --ephemeral: the store of staged changes
 *
 * A project has one such store, below cloche's state directory: a numbered
 * directory for each writable root, which an overlay wrote to, and the roots'
 * paths. Another run with --ephemeral goes on where the last one ended.
 */

#ifndef EPHEMERAL_EPHEMERAL_H
#define EPHEMERAL_EPHEMERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/mem.h"

struct buf;
struct ephemeral_apply;
struct err;
struct plan;
struct policy;
struct view;
struct violation_sink;

enum {
	EPHEMERAL_CHANGES_MAX = 1 << 16,	/* Listed, or applied, at once */
	EPHEMERAL_DEPTH_MAX = 64,
};

enum ephemeral_kind { EPHEMERAL_ADDED, EPHEMERAL_MODIFIED, EPHEMERAL_DELETED };

/**
 * struct ephemeral_change - One path that is different
 * @path:	Absolute, on the host
 * @root:	Which root it lies in
 * @whole:	The replaced directory that it lies in, which can only be taken
 *		as a whole; or NULL
 * @stale:	The host's has changed since
 * @linked:	The host's has other names, which stay as they are
 * @mode:	Of a directory: the one that it was given
 */
struct ephemeral_change {
	enum ephemeral_kind kind;
	char *path, *whole;
	unsigned int root;
	bool stale, linked;
	mode_t mode;
};

/**
 * struct ephemeral_mode - A directory of the store that had to be opened up
 * @path:	In the store
 */
struct ephemeral_mode {
	char *path;
	mode_t mode;
};

/**
 * struct ephemeral - The store of a project
 * @dir:	Where it is
 * @lock:	Held while it is used; -1: not open
 * @roots:	Paths, by number
 * @opened:	What gets its mode back in the end
 */
struct ephemeral {
	char *dir;
	int lock;
	struct strings roots;
	struct { struct ephemeral_change *v; size_t len, cap; } changes;
	struct { struct ephemeral_mode *v; size_t len, cap; } opened;
};

#define EPHEMERAL_NONE	((struct ephemeral){ .lock = -1 })

/* Make the store for a run of @plan, or go on with it. 0, or a negative errno
 * with a message.
 */
int ephemeral_start(const struct plan *plan, struct ephemeral *ret, struct err *err);

/* Where the store of a project is; NULL if there is no place for one. The caller
 * frees.
 */
char *ephemeral_dir(const struct policy *policy);

/* Where the private /tmp of its runs is, in the store; NULL as above. The caller frees. */
char *ephemeral_tmp(const struct policy *policy);

/* After the run: how many changes there are; an empty store goes */
size_t ephemeral_finish(struct ephemeral *store);

/* The staged changes of the project of @policy: 1, 0 if nothing, or a negative errno
 * with a message
 */
int ephemeral_open(const struct policy *policy, struct ephemeral *ret,
	       struct err *err);
/* The same without a look at the changes, which may be too many: all that can be
 * done is to drop them
 */
int ephemeral_find(const struct policy *policy, struct ephemeral *ret,
	       struct err *err);
void ephemeral_done(struct ephemeral *store);

/* Forget one change (of a directory, if nothing is left in it), or with NULL
 * all of them
 */
int ephemeral_drop(struct ephemeral *store, const struct ephemeral_change *change,
	       struct err *err);

/**
 * struct ephemeral_below - What is asked of all that a directory of the host holds
 * @since:	Has it changed after that? Or NULL
 * @may:	May it be removed? Or NULL
 */
struct ephemeral_below {
	const struct timespec *since;
	bool (*may)(void *arg, const char *path);
	void *arg;
};

/* A directory goes with all that is in it: 0 if that may be, 1 if something has
 * changed, -EACCES if something may not or cannot be looked at. @path is the
 * whole path of the directory @name in @at.
 */
int ephemeral_look_below(const struct ephemeral_below *below, int at,
			 const char *name, const char *path);

/* The directory of the store that @change is in, and its name there; or a
 * negative errno with a message
 */
int ephemeral_open_staged(const struct ephemeral *store,
			  const struct ephemeral_change *change,
			  const char **name, struct err *err);

/* Append what the content of @change differs by, as lines of a patch. NULL, or why that
 * cannot be said.
 */
const char *ephemeral_compare(const struct ephemeral *store,
			      const struct ephemeral_change *change, struct buf *hunks);

/* Remove @name and all below it. 0 or a negative errno. */
int ephemeral_remove(int at, const char *name);

const char *ephemeral_kind_name(enum ephemeral_kind kind);

/* ephemeral-apply.c - apply staged changes to the host */

/* Get ready; @view is how the host is now, and outlives the result. @sink gets
 * what goes to quarantine. 0, or a negative errno with a message: then nothing
 * may be applied, since planted files would not be found.
 */
int ephemeral_apply_start(const struct view *view, const struct violation_sink *sink,
		   struct ephemeral_apply **ret, struct err *err);

/* Carry out one change. A path that the policy protects, existing or not, is
 * refused. 0, or a negative errno with a message.
 */
int ephemeral_apply_one(struct ephemeral_apply *applying, const struct ephemeral *store,
		 const struct ephemeral_change *change, bool force,
		 struct err *err);

/* All is done: take out what was planted */
void ephemeral_apply_finish(struct ephemeral_apply *applying);

#endif /* EPHEMERAL_EPHEMERAL_H */
