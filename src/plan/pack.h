/* SPDX-License-Identifier: Apache-2.0 */
/* plan/pack.h - a plan for a process that was forked before there was one */

#ifndef PLAN_PACK_H
#define PLAN_PACK_H

struct arena;
struct plan;

/* A copy of all that the cage needs of @plan (tier full): the view, the rules
 * and the jail's routes are left out. NULL if it does not fit.
 */
const struct plan *plan_pack(const struct plan *plan, struct arena *arena);

#endif /* PLAN_PACK_H */
