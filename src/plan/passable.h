/* SPDX-License-Identifier: Apache-2.0 */
/* plan/passable.h - directories of others, closed to root without capabilities */

#ifndef PLAN_PASSABLE_H
#define PLAN_PASSABLE_H

#include <stdbool.h>

/* False if a command cannot get to @path, whatever we mount, because root's own
 * right to pass everywhere ends at its user namespace: one of the directories
 * above is somebody else's, and closed
 */
bool passable(const char *path);

#endif /* PLAN_PASSABLE_H */
