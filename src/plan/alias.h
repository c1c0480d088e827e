/* SPDX-License-Identifier: Apache-2.0 */
/* plan/alias.h - other mounts of what is hidden */

#ifndef PLAN_ALIAS_H
#define PLAN_ALIAS_H

struct err;
struct view;

/* Deny reading what @view hides by each other name that a mount gives it: the home,
 * bound to a second place, shows the same files. 0, or a negative errno with words.
 */
int alias_hide(struct view *view, struct err *err);

#endif /* PLAN_ALIAS_H */
