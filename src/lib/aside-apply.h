/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside-apply.h - changes that were kept aside, carried out on the host */

#ifndef LIB_ASIDE_APPLY_H
#define LIB_ASIDE_APPLY_H

#include <stdbool.h>

struct applying;
struct aside;
struct aside_change;
struct err;
struct view;
struct violation_sink;

/* Get ready; @view is how the host is now, and outlives the result. @sink hears
 * of what goes to quarantine. 0, or a negative errno with words: then nothing
 * may be applied, since nobody would look for what is planted.
 */
int applying_start(const struct view *view, const struct violation_sink *sink,
		   struct applying **ret, struct err *err);

/* Carry out one change. A path that the policy protects, existing or not, is
 * refused. 0, or a negative errno with words.
 */
int applying_one(struct applying *applying, const struct aside *aside,
		 const struct aside_change *change, bool force,
		 struct err *err);

/* All is done: take out what was planted */
void applying_finish(struct applying *applying);

#endif /* LIB_ASIDE_APPLY_H */
