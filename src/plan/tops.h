/* SPDX-License-Identifier: Apache-2.0 */
/* plan/tops.h - a rule that hides the root directory */

#ifndef PLAN_TOPS_H
#define PLAN_TOPS_H

struct err;
struct view;

/* If a rule hides "/" in the sorted @view, add what that means to it */
int tops_hide(struct view *view, struct err *err);

#endif /* PLAN_TOPS_H */
