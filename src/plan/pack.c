/* SPDX-License-Identifier: Apache-2.0 */
/* plan/pack.c - copy a plan into memory that process 1 can map */

#include "plan/plan.h"

#include <string.h>

#include "base/arena.h"

static void pack_mounts(struct plan *plan, struct arena *arena)
{
	plan->mounts.v = arena_copy(arena, plan->mounts.v,
				    plan->mounts.len * sizeof(*plan->mounts.v));
	for (size_t i = 0; !arena->full && i < plan->mounts.len; i++) {
		struct plan_mount *m = &plan->mounts.v[i];

		m->path = arena_strdup(arena, m->path);
		m->rule = NULL;
	}
}

static void pack_points(struct plan *plan, struct arena *arena)
{
	plan->points.v = arena_copy(arena, plan->points.v,
				   plan->points.len * sizeof(*plan->points.v));
	for (size_t i = 0; !arena->full && i < plan->points.len; i++) {
		struct plan_point *s = &plan->points.v[i];

		s->path = arena_strdup(arena, s->path);
		s->target = arena_strdup(arena, s->target);
		s->text = s->len ? arena_copy(arena, s->text, s->len) :
			  arena_strdup(arena, s->text);
	}
}

const struct plan *plan_pack(const struct plan *plan, struct arena *arena)
{
	struct plan *copy = arena_copy(arena, plan, sizeof(*plan));

	if (!copy)
		return NULL;
	copy->view = NULL;
	memset(&copy->grants, 0, sizeof(copy->grants));
	memset(&copy->carved, 0, sizeof(copy->carved));
	copy->jail.v = NULL;
	copy->jail.len = copy->jail.cap = 0;
	pack_mounts(copy, arena);
	pack_points(copy, arena);
	copy->env = arena_strings(arena, plan->env);
	copy->argv = arena_strings(arena, plan->argv);
	copy->cwd = arena_strdup(arena, plan->cwd);
	copy->unfrozen = arena_strdup(arena, plan->unfrozen);
	return arena->full ? NULL : copy;
}
