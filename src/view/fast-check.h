/* SPDX-License-Identifier: Apache-2.0 */
/* view/fast-check.h - paths that may be written, decided by their text alone */

#ifndef VIEW_FAST_CHECK_H
#define VIEW_FAST_CHECK_H

#include <stdbool.h>

struct fast_check;
struct view;

/* For @view, in a sandbox that was built from @initial: the same, or older.
 * Both outlive the result, which does not change: any thread may use it.
 */
struct fast_check *fast_check_new(const struct view *view, const struct view *initial);
void fast_check_free(struct fast_check *plain);

/* True only if @path, absolute and real, may be written under both, no rule
 * stands at it, above it in its writable root, or below it, and no name in it
 * is protected or could match a pattern. False means that the path must be resolved.
 */
bool fast_check_covers(const struct fast_check *plain, const char *path);

#endif /* VIEW_FAST_CHECK_H */
