/* SPDX-License-Identifier: Apache-2.0 */
/* plan/settle.h - rules that turn out to be none, once all are in the view */

#ifndef PLAN_SETTLE_H
#define PLAN_SETTLE_H

struct view;

/* Drop what opens nothing from the sorted @view, and note it */
void settle(struct view *view);

#endif /* PLAN_SETTLE_H */
