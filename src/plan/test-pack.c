/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-pack.c - a plan copied into an arena */

#include "plan/plan.h"

#include "base/arena.h"
#include "base/mem.h"
#include "test.h"

enum { ROOM = 1 << 16 };

static char **strings(const char *a, const char *b)
{
	char **v = mem_zalloc(3 * sizeof(*v));

	v[0] = mem_strdup(a);
	v[1] = mem_strdup(b);
	return v;
}

static struct plan *make_plan(size_t mounts)
{
	struct plan *plan = mem_zalloc(sizeof(*plan));
	struct plan_point *point = vec_push(&plan->points);

	*point = (struct plan_point){
		.mask = 2, .path = mem_strdup("a/b"),
		.text = mem_strdup("text"), .open = true,
	};
	for (size_t i = 0; i < mounts; i++) {
		struct plan_mount *m = vec_push(&plan->mounts);

		*m = (struct plan_mount){
			.kind = MOUNT_MASK_FILE, .ino = i + 1,
			.path = mem_printf("/p/%zu", i),
			.rule = (const struct path_rule *)(const void *)plan,
		};
	}
	plan->view = (const struct view *)(const void *)plan;
	plan->net = NET_FILTERED;
	plan->network.capture.v[0] = 5432;
	plan->network.capture.len = 1;
	plan->masks = 3;
	plan->namespaces = plan_namespaces(TIER_FULL, NET_FILTERED);
	plan->cwd = mem_strdup("/p");
	plan->argv = strings("echo", "");
	plan->env = strings("A=1", "B=");
	return plan;
}

/* The original is gone when the copy is read: nothing may point into it */
TEST(a_packed_plan_is_independent_of_the_original)
{
	struct plan *plan = make_plan(100);
	struct arena arena;
	const struct plan *copy;

	CHECK_INT(arena_open(&arena, ROOM), 0);
	copy = plan_pack(plan, &arena);
	plan_free(plan);
	CHECK(copy != NULL);
	CHECK_INT(copy->mounts.len, 100);
	CHECK_STR(copy->mounts.v[99].path, "/p/99");
	CHECK_INT(copy->mounts.v[99].ino, 100);
	CHECK(copy->mounts.v[99].rule == NULL && copy->view == NULL);
	CHECK_INT(copy->points.len, 1);
	CHECK_STR(copy->points.v[0].path, "a/b");
	CHECK_STR(copy->points.v[0].text, "text");
	CHECK(copy->points.v[0].target == NULL && copy->points.v[0].open);
	CHECK_INT(copy->network.capture.v[0], 5432);
	CHECK_INT(copy->masks, 3);
	CHECK_STR(copy->cwd, "/p");
	CHECK_STR(copy->argv[0], "echo");
	CHECK_STR(copy->argv[1], "");
	CHECK(copy->argv[2] == NULL);
	CHECK_STR(copy->env[1], "B=");
	CHECK(copy->env[2] == NULL);
	arena_close(&arena);
}

TEST(packing_fails_when_the_arena_is_too_small)
{
	auto_plan struct plan *plan = make_plan(2000);
	struct arena arena;

	/* Wherever the room ends */
	for (size_t size = 4096; size <= ROOM; size += 4096) {
		CHECK_INT(arena_open(&arena, size), 0);
		CHECK(plan_pack(plan, &arena) == NULL);
		arena_close(&arena);
	}
}
