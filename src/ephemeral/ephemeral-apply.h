/* SPDX-License-Identifier: Apache-2.0 */
/* ephemeral/ephemeral-apply.h - apply staged changes to the host */

#ifndef EPHEMERAL_EPHEMERAL_APPLY_H
#define EPHEMERAL_EPHEMERAL_APPLY_H

#include <stdbool.h>

struct ephemeral_apply;
struct ephemeral;
struct ephemeral_change;
struct err;
struct view;
struct violation_sink;

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

#endif /* EPHEMERAL_EPHEMERAL_APPLY_H */
