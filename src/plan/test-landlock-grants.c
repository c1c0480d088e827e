/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-landlock-grants.c - the grants of the landlock tier */

#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "view/view.h"
#include "test.h"

/* Rules by hand: only the lists that a test gives, nothing built in */
static struct view *view_of(struct policy *policy)
{
	struct view *view = mem_zalloc(sizeof(*view));

	view->policy = policy_ref(policy);
	return view;
}

static void add(struct view *view, enum path_list list, const char *path)
{
	view_add(view, list, path, view_own_rule(view, path, path, "test"),
		 false);
	view_sort(view);
}

/* What is granted at @path: by a grant at or above it */
static enum grant_right right_of(const struct plan *plan, const char *path)
{
	enum grant_right right = GRANT_NOTHING;

	for (size_t i = 0; i < plan->grants.len; i++) {
		const struct plan_grant *g = &plan->grants.v[i];

		if (path_is_within(g->path, path) && g->right > right)
			right = g->right;
	}
	return right;
}

/* a/{secret,plain,deep/x}, w/{keep/f,src/f,top} */
static struct view *tree(void)
{
	auto_policy struct policy *policy = policy_new(test_dir(), NULL);

	test_write(test_path("a/secret"), "");
	test_write(test_path("a/plain"), "");
	test_write(test_path("a/deep/x"), "");
	test_write(test_path("w/keep/f"), "");
	test_write(test_path("w/src/f"), "");
	test_write(test_path("w/top"), "");
	CHECK_INT(symlink("a/secret", test_path("link")), 0);
	return view_of(policy);
}

TEST(a_hidden_file_gets_no_grant_and_its_siblings_do)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	add(view, PATH_DENY_READ, test_path("a/secret"));
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK(right_of(plan, test_path("a/secret")) < GRANT_READ);
	CHECK_INT(right_of(plan, test_path("a/plain")), GRANT_READ);
	CHECK_INT(right_of(plan, test_path("a/deep/x")), GRANT_READ);
	CHECK_INT(right_of(plan, test_path("w/top")), GRANT_READ);
	/* No directory is hidden: names are no secret */
	CHECK_INT(right_of(plan, test_path("a")), GRANT_LIST);
	CHECK(right_of(plan, test_path("link")) < GRANT_READ);
}

TEST(parents_of_a_hidden_directory_cannot_be_listed)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	add(view, PATH_DENY_READ, test_path("a/deep"));
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK_INT(right_of(plan, test_path("a/deep/x")), GRANT_NOTHING);
	CHECK_INT(right_of(plan, test_path("a")), GRANT_NOTHING);
	CHECK_INT(right_of(plan, "/"), GRANT_NOTHING);
	CHECK_INT(right_of(plan, test_path("a/plain")), GRANT_READ);
	CHECK(landlock_grants_carve(plan, test_path("a")));
	CHECK(!landlock_grants_carve(plan, test_path("w")));
}

TEST(write_denied_paths_in_a_writable_root_are_read_only)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	add(view, PATH_ALLOW_WRITE, test_path("w"));
	add(view, PATH_DENY_WRITE, test_path("w/keep"));
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK_INT(right_of(plan, test_path("w/keep/f")), GRANT_READ);
	CHECK_INT(right_of(plan, test_path("w")), GRANT_READ);
	CHECK_INT(right_of(plan, test_path("w/src/f")), GRANT_WRITE);
	CHECK_INT(right_of(plan, test_path("w/top")), GRANT_WRITE);
	CHECK(landlock_grants_cover(plan, test_path("w/src/f")));
	CHECK(!landlock_grants_cover(plan, test_path("w/src")));
	CHECK(!landlock_grants_cover(plan, test_path("w/new")));
	CHECK(landlock_grants_carve(plan, test_path("w")));
}

TEST(a_shown_path_inside_a_hidden_directory_is_granted_alone)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	add(view, PATH_DENY_READ, test_path("a"));
	add(view, PATH_ALLOW_READ, test_path("a/deep"));
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK_INT(right_of(plan, test_path("a/deep/x")), GRANT_READ);
	CHECK_INT(right_of(plan, test_path("a/secret")), GRANT_NOTHING);
}

TEST(dev_is_never_granted_as_a_whole)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK(right_of(plan, "/dev/null") < GRANT_READ);
	CHECK_INT(right_of(plan, "/proc/self/status"), GRANT_READ);
}

TEST(a_writable_root_excludes_proc_sys_and_dev)
{
	auto_view struct view *view = tree();
	auto_plan struct plan *plan = mem_zalloc(sizeof(*plan));

	plan->view = view;
	plan->root_writable = true;
	add(view, PATH_ALLOW_WRITE, "/");
	CHECK_INT(landlock_grants_plan(plan, view, NULL), 0);
	CHECK_INT(right_of(plan, test_path("w/top")), GRANT_WRITE);
	CHECK_INT(right_of(plan, "/proc/sys"), GRANT_READ);
	CHECK_INT(right_of(plan, "/sys/kernel"), GRANT_READ);
}

static void make_neighbours(const char *prefix, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "a/%s%zu", prefix, i);
		CHECK_INT(mknod(test_path(name), S_IFREG | 0600, 0), 0);
	}
}

/* What stands in the directories above counts too, and others make and remove
 * files there meanwhile: hence the slack
 */
TEST(too_many_siblings_are_an_error_that_names_the_directory)
{
	enum { SLACK = 200 };
	auto_view struct view *view = tree();
	auto_plan struct plan *some = mem_zalloc(sizeof(*some));
	auto_plan struct plan *many = mem_zalloc(sizeof(*many));
	auto_plan struct plan *more = mem_zalloc(sizeof(*more));
	struct err err = { 0 };

	add(view, PATH_DENY_READ, test_path("a/secret"));
	CHECK_INT(landlock_grants_plan(some, view, NULL), 0);
	make_neighbours("n", LANDLOCK_GRANTS_MAX - SLACK - some->grants.len);
	CHECK_INT(landlock_grants_plan(many, view, &err), 0);
	CHECK(many->grants.len > LANDLOCK_GRANTS_MAX - 2 * SLACK);
	make_neighbours("m", 2 * SLACK);
	CHECK_INT(landlock_grants_plan(more, view, &err), -E2BIG);
	CHECK_INT(more->grants.len, LANDLOCK_GRANTS_MAX);
	CHECK_CONTAINS(err.msg, "cannot express");
}
