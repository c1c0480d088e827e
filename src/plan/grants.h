/* SPDX-License-Identifier: Apache-2.0 */
/* plan/grants.h - the landlock tier: verdicts as a list of Landlock grants */

#ifndef PLAN_GRANTS_H
#define PLAN_GRANTS_H

#include <stdbool.h>

struct err;
struct plan;
struct view;

enum {
	GRANTS_MAX = 8192,	/* Rules that a run may take */
	GRANTS_DEPTH_MAX = 64,	/* Directories carved, one inside the other */
};

/* Close the host's /tmp but for what rules name in it, and open @tmpdir, the
 * private one (NULL: none); before grants_plan()
 */
void grants_close_tmp(struct view *view, const char *tmpdir);

/* Fill @plan->grants and @plan->carved. 0, or a negative errno that names the
 * rule which Landlock cannot express here.
 */
int grants_plan(struct plan *plan, const struct view *view, struct err *err);

/* In the landlock tier: does Landlock itself let @path be changed, made and
 * removed?
 */
bool grants_cover(const struct plan *plan, const char *path);

/* And is @path one of the directories above something protected or hidden,
 * which must stay where they are?
 */
bool grants_carve(const struct plan *plan, const char *path);

#endif /* PLAN_GRANTS_H */
