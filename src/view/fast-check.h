/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plain.h - paths that may be written without a second thought, by text */

#ifndef PLAN_PLAIN_H
#define PLAN_PLAIN_H

#include <stdbool.h>

struct plain;
struct view;

/* For @view, in a sandbox that was built from @initial: the same, or older.
 * Both outlive the result, which does not change: any thread may ask.
 */
struct plain *plain_new(const struct view *view, const struct view *initial);
void plain_free(struct plain *plain);

/* True only if @path, absolute and real, may be written under both, no rule
 * stands at it, above it in its writable root, or below it, and no name in it
 * is protected or could be a pattern's. False says nothing.
 */
bool plain_covers(const struct plain *plain, const char *path);

#endif /* PLAN_PLAIN_H */
