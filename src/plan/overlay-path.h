/* SPDX-License-Identifier: Apache-2.0 */
/* lib/upper.h - what only the store of --ephemeral has, and the host does not */

#ifndef LIB_UPPER_H
#define LIB_UPPER_H

#include <stdbool.h>
#include <time.h>

struct plan;

/* Where what the command sees at @path stands: in @store, the directory of a
 * run's changes, if only that has it; else at @path. @store may be NULL. The
 * caller frees.
 */
char *upper_place(const struct plan *plan, const char *store,
		  const char *path);

/* birth_in_repository() for what the command sees */
bool upper_in_repository(const struct plan *plan, const char *store,
			 const char *root, const char *path,
			 const struct timespec *since);

#endif /* LIB_UPPER_H */
