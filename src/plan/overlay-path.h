/* SPDX-License-Identifier: Apache-2.0 */
/* plan/overlay-path.h - paths that exist only in the staged changes */

#ifndef PLAN_OVERLAY_PATH_H
#define PLAN_OVERLAY_PATH_H

#include <stdbool.h>
#include <time.h>

struct plan;

/* Marks a directory that was made so that changes in it can be staged: to the command it
 * is missing as far as its first mkdir() goes
 */
#define PLACEHOLDER_ATTRIBUTE	"user.cloche.placeholder"

/* Where what the command sees at @path stands: in @store, the directory of a
 * run's changes, if only that has it; else at @path. @store may be NULL. The
 * caller frees.
 */
char *overlay_path_find(const struct plan *plan, const char *store,
		  const char *path);

/* btime_in_repository() for what the command sees */
bool overlay_path_in_repository(const struct plan *plan, const char *store,
			 const char *root, const char *path,
			 const struct timespec *since);

#endif /* PLAN_OVERLAY_PATH_H */
