/* SPDX-License-Identifier: Apache-2.0 */
/* plan/mounts.h - from verdicts to an ordered list of mounts */

#ifndef PLAN_MOUNTS_H
#define PLAN_MOUNTS_H

struct plan;
struct view;

/* Fill @plan's mounts, points and masks from @view; @plan is otherwise empty
 * but for root_writable
 */
void mounts_plan(struct plan *plan, const struct view *view);

/* By component, so that what lies below "/a" follows it before "/a.b" */
int mounts_compare_paths(const char *a, const char *b);
/* The same for qsort(), of an array of strings */
int mounts_compare_items(const void *a, const void *b);

#endif /* PLAN_MOUNTS_H */
