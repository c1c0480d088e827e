/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-plan.c - the order of mounts, pins and masks */

#include "plan/plan.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "view/view.h"
#include "test.h"

/* One line of a policy, and what the plan must be */
struct rule {
	enum path_list list;
	const char *path;
};

static void make(const char *name)
{
	const char *path = test_path(name);

	test_write(path, "x");
}

/* The mounts that @rules cause in project "p" with home "h", one per line, the
 * test's directory written as "@"
 */
static char *mounts_of(const struct rule *rules, size_t n)
{
	const char *cwd = test_path("p");
	const char *home = test_path("h");
	auto_policy struct policy *policy = policy_new(cwd, home);
	auto_view struct view *view = NULL;
	auto_plan struct plan *plan = NULL;
	static char *const none[] = { NULL };
	const struct plan_request request = { .argv = none, .environ = none };
	const struct machine machine = { .landlock_abi = 7 };
	const struct source *source = policy_add_source(policy, SCOPE_FLAG,
		"--option", NULL, 0, cwd);
	struct buf out = { 0 };

	for (size_t i = 0; i < n; i++)
		CHECK_INT(policy_add_path(policy, rules[i].list, rules[i].path,
			RULE_USER, origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(policy, NULL), 0);
	CHECK_INT(view_build(policy, &view, NULL), 0);
	CHECK_INT(plan_build(view, &machine, &request, &plan, NULL), 0);
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		/* The home itself is shown only where it is below /tmp */
		if (path_is_below(test_dir(), m->path) &&
		    strcmp(m->path, home) != 0)
			buf_addf(&out, "%s @%s\n", mount_kind_name(m->kind),
				 m->path + strlen(test_dir()));
	}
	return buf_take(&out);
}

#define CHECK_MOUNTS(want, ...)						\
	do {								\
		const struct rule rules_[] = { __VA_ARGS__ };		\
		auto_free char *mounts_ = mounts_of(rules_,		\
						 ARRAY_SIZE(rules_));	\
		CHECK_STR(mounts_, want);				\
	} while (0)

TEST(protected_names_are_read_only_and_their_directories_pinned)
{
	make("h/x");
	make("p/.git/hooks/pre-commit");
	make("p/.git/config");
	make("p/sub/.envrc");
	CHECK_MOUNTS("write @/p\n"
		     "pin @/p/.git\n"
		     "read-only @/p/.git/config\n"
		     "read-only @/p/.git/hooks\n"
		     "pin @/p/sub\n"
		     "read-only @/p/sub/.envrc\n",
		     { PATH_ALLOW_WRITE, "." });
}

TEST(shown_paths_are_mounted_after_their_mask)
{
	make("h/.ssh/id_x");
	make("h/.ssh/known_hosts");
	make("p/s/open/file");
	make("p/s/closed");
	CHECK_MOUNTS("hide directory @/h/.ssh\n"
		     "show @/h/.ssh/known_hosts\n"
		     "write @/p\n"
		     "hide directory @/p/s\n"
		     "write @/p/s/open\n",
		     { PATH_DENY_READ, "s" }, { PATH_ALLOW_READ, "s/open" });
}

TEST(a_hidden_file_gets_a_file_mask)
{
	make("h/x");
	make("p/token");
	CHECK_MOUNTS("write @/p\n" "hide file @/p/token\n",
		     { PATH_DENY_READ, "token" });
}

TEST(nested_roots_are_merged_and_denied_roots_dropped)
{
	make("h/x");
	make("p/a/b/c");
	make("p/d/e");
	CHECK_MOUNTS("write @/p\n" "read-only @/p/d\n",
		     { PATH_ALLOW_WRITE, "a/b" }, { PATH_DENY_WRITE, "d" },
		     { PATH_ALLOW_WRITE, "d/e" });
}

TEST(a_protected_symlink_and_its_target_are_read_only)
{
	const char *link = test_path("p/.envrc");
	const char *loop = test_path("p/.husky");

	make("h/x");
	make("p/real");
	CHECK_INT(symlink("real", link), 0);
	CHECK_INT(symlink(".", loop), 0);	/* Not all of the project */
	CHECK_MOUNTS("write @/p\n" "pin @/p/.envrc\n" "pin @/p/.husky\n"
		     "read-only @/p/real\n",
		     { PATH_ALLOW_WRITE, "." });
}

TEST(a_hidden_start_directory_is_refused)
{
	const char *cwd = test_path("p");
	auto_policy struct policy *policy = policy_new(cwd, NULL);
	auto_view struct view *view = NULL;
	static char *const none[] = { NULL };
	const struct plan_request request = { .argv = none, .environ = none };
	const struct machine machine = { 0 };
	struct plan *plan = NULL;
	struct err err = { 0 };

	make("p/x");
	CHECK_INT(policy_add_path(policy, PATH_DENY_READ, ".", RULE_USER,
				  origin_make(NULL, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(policy, NULL), 0);
	CHECK_INT(view_build(policy, &view, NULL), 0);
	CHECK_INT(plan_build(view, &machine, &request, &plan, &err), -EACCES);
	CHECK_CONTAINS(err.msg, "is hidden by ");
}
