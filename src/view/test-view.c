/* SPDX-License-Identifier: Apache-2.0 */
/* view/test-view.c - rules on a file system */

#include "view/view.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/policy.h"
#include "view/walk.h"
#include "test.h"

/* A policy for "project" in the test's directory, as the command line would
 * make it
 */
static struct policy *make(void)
{
	const char *cwd = test_path("project");
	const char *home = test_path("home");

	CHECK_INT(mkdir(cwd, 0755), 0);
	CHECK_INT(mkdir(home, 0755), 0);
	return policy_new(cwd, home);
}

static void rule(struct policy *p, enum path_list list, const char *path)
{
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--option", NULL, 0, p->cwd);

	CHECK_INT(policy_add_path(p, list, path, RULE_USER,
				  origin_make(source, NULL, NULL), NULL), 0);
}

static struct view *look(struct policy *p)
{
	struct view *view = NULL;
	struct err err = { 0 };

	CHECK_INT(policy_finish(p, &err), 0);
	CHECK_INT(view_build(p, &view, &err), 0);
	return view;
}

static char *in_dir(const char *name)
{
	return path_join(test_dir(), name);
}

static void make_file(const char *name)
{
	auto_free char *path = in_dir(name);

	test_write(path, "x");
}

static bool may(const struct view *view, enum view_op op, const char *name)
{
	auto_free char *path = in_dir(name);

	return view_verdict(view, op, path).allowed;
}

TEST(only_the_start_directory_is_writable)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/a/b");
	view = look(p);
	CHECK(may(view, VIEW_WRITE, "project/a/b"));
	CHECK(may(view, VIEW_WRITE, "project/new"));
	CHECK(!view_verdict(view, VIEW_WRITE, "/etc/passwd").allowed);
	CHECK(view_verdict(view, VIEW_READ, "/etc/passwd").allowed);
	CHECK_STR(view_verdict(view, VIEW_WRITE, "/etc/x").reason,
		  "outside the writable paths");
}

TEST(deny_write_wins_at_any_depth)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/a/b/c");
	rule(p, PATH_DENY_WRITE, "a");
	rule(p, PATH_ALLOW_WRITE, "a/b");
	view = look(p);
	CHECK(!may(view, VIEW_WRITE, "project/a/b/c"));
	CHECK(may(view, VIEW_READ, "project/a/b/c"));
	CHECK(may(view, VIEW_WRITE, "project/other"));
}

TEST(the_deepest_read_rule_decides)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/s/open/deep/f");
	rule(p, PATH_DENY_READ, "s");
	rule(p, PATH_ALLOW_READ, "s/open");
	rule(p, PATH_DENY_READ, "s/open/deep");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "project/s/x"));
	CHECK(may(view, VIEW_READ, "project/s/open/y"));
	CHECK(!may(view, VIEW_READ, "project/s/open/deep/f"));
	/* Hidden means not writable either */
	CHECK(!may(view, VIEW_WRITE, "project/s/x"));
}

TEST(a_tie_is_denied_for_directories_and_lifted_for_a_named_file)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/d/f");
	make_file("project/file");
	rule(p, PATH_DENY_READ, "d");
	rule(p, PATH_ALLOW_READ, "d");
	rule(p, PATH_DENY_READ, "file");
	rule(p, PATH_ALLOW_READ, "file");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "project/d/f"));
	CHECK(may(view, VIEW_READ, "project/file"));
}

TEST(a_denied_symlink_denies_its_target)
{
	auto_free char *link = in_dir("project/link");
	auto_free char *secret = in_dir("secret");
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("secret/key");
	CHECK_INT(symlink(secret, link), 0);
	rule(p, PATH_DENY_READ, "link");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "secret/key"));
	CHECK(!may(view, VIEW_READ, "project/link"));
}

TEST(an_allow_rule_through_a_planted_symlink_is_dropped)
{
	auto_free char *link = in_dir("project/link");
	auto_free char *outside = in_dir("outside");
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("outside/f");
	CHECK_INT(symlink(outside, link), 0);
	rule(p, PATH_ALLOW_WRITE, "link");
	view = look(p);
	CHECK(!view_root_of(view, outside));
	CHECK_INT(view->notes.len, 1);
	CHECK_CONTAINS(view->notes.v[0].text, "symbolic link");
}

TEST(protected_names_that_exist_are_found_at_any_depth)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/.bashrc");
	make_file("project/a/b/.envrc");
	make_file("project/a/b/c/.envrc");
	make_file("project/a/b/c/d/e/f/.hg/hgrc");
	make_file("project/a/b/x.code-workspace");
	make_file("project/opencode.json");
	make_file("project/.cargo/config.toml");
	make_file("project/a/.git/hooks/pre-commit");
	make_file("project/a/.git/config");
	make_file("project/a/.git/modules/sub/config");
	make_file("project/node_modules/.npmrc");
	make_file("project/.claude/agents/x");
	make_file("project/.claude/other");
	view = look(p);
	CHECK(!may(view, VIEW_WRITE, "project/.bashrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/b/.envrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/b/c/.envrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/b/c/d/e/f/.hg/hgrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/b/x.code-workspace"));
	CHECK(!may(view, VIEW_WRITE, "project/opencode.json"));
	CHECK(may(view, VIEW_WRITE, "project/.cargo/config.toml"));
	CHECK(may(view, VIEW_WRITE, "project/node_modules/.npmrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/.git/hooks/pre-commit"));
	CHECK(!may(view, VIEW_WRITE, "project/a/.git/config"));
	CHECK(!may(view, VIEW_WRITE, "project/a/.git/modules/sub/config"));
	CHECK(may(view, VIEW_WRITE, "project/a/.git/index"));
	CHECK(!may(view, VIEW_WRITE, "project/.claude/agents/x"));
	CHECK(may(view, VIEW_WRITE, "project/.claude/other"));
}

TEST(protected_names_are_found_in_any_case)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/.VSCode/tasks.json");
	make_file("project/.Claude/agents/x");
	make_file("project/a/.GIT/hooks/pre-commit");
	make_file("project/a/.gitx");
	view = look(p);
	CHECK(!may(view, VIEW_WRITE, "project/.VSCode/tasks.json"));
	CHECK(!may(view, VIEW_WRITE, "project/.Claude/agents/x"));
	CHECK(!may(view, VIEW_WRITE, "project/a/.GIT/hooks/pre-commit"));
	CHECK(may(view, VIEW_WRITE, "project/a/.gitx"));
}

TEST(globs_apply_to_existing_and_later_files)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;
	size_t found = 0;

	make_file("project/a/x.env");
	make_file("project/y.env");
	rule(p, PATH_DENY_READ, "**/*.env");
	view = look(p);
	for (size_t i = 0; i < view->rules.len; i++)
		found += view->rules.v[i].list == PATH_DENY_READ &&
			 view->rules.v[i].found;
	CHECK_INT(found, 2);
	CHECK(!may(view, VIEW_READ, "project/a/x.env"));
	CHECK(!may(view, VIEW_READ, "project/later/z.env"));
	CHECK(may(view, VIEW_READ, "project/z.txt"));
}

TEST(a_pattern_denies_the_target_of_a_matching_symlink)
{
	auto_free char *link = in_dir("project/a/x.env");
	auto_free char *up = in_dir("project/a/up.env");
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("secret/env");
	make_file("secret/other");
	make_file("project/a/file");
	CHECK_INT(symlink("../../secret/env", link), 0);
	CHECK_INT(symlink("..", up), 0);
	rule(p, PATH_DENY_READ, "**/*.env");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "project/a/x.env"));
	CHECK(!may(view, VIEW_READ, "secret/env"));
	CHECK(may(view, VIEW_READ, "secret/other"));
	CHECK(may(view, VIEW_READ, "project/a/file"));	/* It holds the link */
}

TEST(a_pattern_applies_below_its_resolved_directory)
{
	auto_free char *link = in_dir("project/link");
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("far/deep/x.env");
	make_file("far/log/x.log");
	CHECK_INT(symlink("../far", link), 0);
	rule(p, PATH_DENY_READ, "link/**/*.e[m-o]v");
	rule(p, PATH_ALLOW_WRITE, "link/log/*.log");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "far/deep/x.env"));
	CHECK(!may(view, VIEW_READ, "far/later/y.env"));
	CHECK(may(view, VIEW_READ, "far/deep/x.exv"));
	/* A command could have made the link: two of the one, one of the other */
	CHECK_INT(view->globs.len, 3);
	CHECK_INT(view->notes.len, 1);
}

TEST(a_directory_named_like_a_pattern_is_literal)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("project/app/[id]/x.env");
	make_file("project/app/[id]/[...rest]/y.env");
	make_file("project/app/[id]/file");
	make_file("project/app/d/z.env");
	rule(p, PATH_DENY_READ, "app/[id]/*.env");
	rule(p, PATH_DENY_READ, "app/[id]/[...rest]/*.env");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "project/app/[id]/x.env"));
	CHECK(!may(view, VIEW_READ, "project/app/[id]/later.env"));
	CHECK(!may(view, VIEW_READ, "project/app/[id]/[...rest]/y.env"));
	CHECK(!may(view, VIEW_READ, "project/app/d/z.env"));
	CHECK(may(view, VIEW_READ, "project/app/[id]/file"));
}

TEST(a_pattern_search_follows_symlinks_to_directories)
{
	static const char *const links[][2] = {
		{ "../far", "project/out" }, { "../near", "project/outer" },
		{ "../../project", "far/deep/loop" }, { "deep", "far/again" },
	};
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("far/deep/x.env");
	make_file("far/deep/file");
	make_file("far/x.log");
	make_file("near/x.key");
	make_file("near/deep/x.key");
	make_file("project/in/deep/y.env");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		auto_free char *link = in_dir(links[i][1]);

		CHECK_INT(symlink(links[i][0], link), 0);
	}
	rule(p, PATH_DENY_READ, "**/*.env");
	rule(p, PATH_DENY_READ, "ou*/*.key");
	rule(p, PATH_ALLOW_WRITE, "**/*.log");
	view = look(p);
	CHECK(!may(view, VIEW_READ, "far/deep/x.env"));
	CHECK(!may(view, VIEW_READ, "project/in/deep/y.env"));
	CHECK(!may(view, VIEW_READ, "near/x.key"));
	CHECK(may(view, VIEW_READ, "near/deep/x.key"));
	CHECK(may(view, VIEW_READ, "far/deep/file"));
	for (size_t i = 0; i < view->rules.len; i++)
		CHECK(!strstr(view->rules.v[i].path, "x.log"));
	CHECK_INT(view->notes.len, 0);
}

TEST(the_search_behind_a_symlink_is_limited_and_reported)
{
	auto_free char *out = in_dir("project/out");
	auto_free char *far = in_dir("far");
	auto_free char *file = in_dir("far/file");
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	make_file("far/file");
	for (unsigned int i = 0; i < WALK_LINKED_MAX; i++) {
		auto_free char *name = mem_printf("%s/%u", far, i);

		CHECK_INT(link(file, name), 0);
	}
	CHECK_INT(symlink("../far", out), 0);
	rule(p, PATH_DENY_READ, "**/*.env");
	view = look(p);
	CHECK_INT(view->notes.len, 1);
	CHECK_CONTAINS(view->notes.v[0].text, "/project/out'");
}

static bool is_found(const struct view *view, const struct path_rule *rule,
		     const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->found && r->rule == rule && !strcmp(r->path, path))
			return true;
	}
	return false;
}

TEST(several_patterns_searched_together_find_all_matches)
{
	static const char *const names[] = {
		"x", "a", "a/x.env", ".env", "b", "b/y.env", "b/secrets",
		"b/secrets/k", "secrets", "secrets/1", "secrets/c", "secrets/c/2",
		"conf", "conf/.env", "conf/.envrc", "conf/.erc", "c", "c/d",
		"c/d/e", "c/d/e/f.pem", "c/f.pem", "id_rsa", "id_rsa.pub", "aa",
		"aa/x", "\303\251t\303\251", "\303\251t\303\251/.env",
	};
	static const char *const patterns[] = {
		"**/*.env", "**/.env", "**/secrets/**", "conf/.e*", "conf/.en*",
		"**/id_rsa*", "*/*.env", "**/d/**/f.pem", "a?/x", "c/*/e/*.pem",
		"?", "**/[a-c]", "**/?t?/**", "secrets/**", "secrets/**/2",
		"**************************************************/x.env",
		"?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*",
	};
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;
	size_t hits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(p->cwd, names[i]);
		auto_free char *next = path_join(p->cwd, i + 1 < ARRAY_SIZE(names) ?
						      names[i + 1] : "");

		/* What has something in it is a directory */
		if (!path_is_below(path, next))
			test_write(path, "x");
	}
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		rule(p, i % 3 ? PATH_DENY_READ : PATH_DENY_WRITE, patterns[i]);
	view = look(p);
	CHECK(view->globs.len + 1 == ARRAY_SIZE(patterns));	/* One is none */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(p->cwd, names[i]);

		for (size_t j = 0; j < view->globs.len; j++) {
			const struct path_rule *r = view->globs.v[j].rule;
			const bool want = glob_match(r->glob, path);

			hits += want;
			if (is_found(view, r, path) != want)
				test_fail(__FILE__, __LINE__,
					  "'%s' on '%s' is not %d", r->text,
					  names[i], want);
		}
	}
	CHECK(hits > 30);
}

TEST(a_pattern_that_starts_at_the_root_is_an_error_that_names_it)
{
	auto_policy struct policy *p = make();
	struct view *view = NULL;
	struct err err = { 0 };

	rule(p, PATH_DENY_READ, "/*/x");
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK_INT(view_build(p, &view, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "/*/x");
	CHECK_CONTAINS(err.msg, "--option");
}

TEST(a_missing_root_from_the_command_line_is_an_error)
{
	auto_policy struct policy *p = make();
	struct view *view = NULL;
	struct err err = { 0 };

	rule(p, PATH_ALLOW_WRITE, "missing");
	p->paths[PATH_ALLOW_WRITE].v[0].must_exist = true;
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK_INT(view_build(p, &view, &err), -ENOENT);
	CHECK_CONTAINS(err.msg, "missing");
}

TEST(no_rule_makes_proc_sys_or_dev_writable)
{
	static const char *const closed[] = {
		"/dev/kmsg", "/proc/sys/vm/swappiness", "/sys/kernel/mm",
	};
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;

	rule(p, PATH_ALLOW_WRITE, "/");
	rule(p, PATH_ALLOW_WRITE, "/proc/sys");
	view = look(p);
	CHECK(view_verdict(view, VIEW_WRITE, "/etc/hosts").allowed);
	CHECK(view_verdict(view, VIEW_WRITE, "/dev/null").allowed);
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
		const struct verdict v = view_verdict(view, VIEW_WRITE,
						      closed[i]);

		CHECK(!v.allowed && v.final);
		CHECK(view_verdict(view, VIEW_READ, closed[i]).allowed);
	}
}

/* Where only @n more descriptors may be open */
static int look_with(struct policy *p, int n, struct view **ret,
		     struct err *err)
{
	const int next = dup(STDERR_FILENO);
	struct rlimit limit, low;
	int r;

	CHECK(next >= 0 && close(next) == 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)(next + n);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &low), 0);
	r = view_build(p, ret, err);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return r;
}

TEST(a_walk_without_descriptors_fails)
{
	auto_policy struct policy *p = make();
	auto_view struct view *view = NULL;
	struct err err = { 0 };
	int n = 0;

	make_file("project/a/b/.bashrc");
	make_file("project/a/.git/hooks/pre-commit");
	make_file("project/d/e/f/key");
	rule(p, PATH_DENY_READ, "**/key");
	CHECK_INT(policy_finish(p, NULL), 0);
	while (look_with(p, n, &view, &err) < 0) {
		CHECK_INT(err.code, -EMFILE);
		CHECK(strstr(err.msg, "ulimit -n"));
		CHECK(n++ < 16);
	}
	CHECK(n > 2);
	CHECK(!may(view, VIEW_WRITE, "project/a/b/.bashrc"));
	CHECK(!may(view, VIEW_WRITE, "project/a/.git/hooks/pre-commit"));
	CHECK(!may(view, VIEW_READ, "project/d/e/f/key"));
}
