/* SPDX-License-Identifier: Apache-2.0 */
/* view/test-fast-check.c - paths that need no rule, decided by their text */


#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "view/view.h"
#include "test.h"

/* One line of a policy */
struct rule {
	enum path_list list;
	const char *path;
};

static struct view *look(const struct rule *rules, size_t n)
{
	const char *cwd = test_path("p");
	const char *home = test_path("h");
	auto_policy struct policy *policy = NULL;
	const struct source *source;
	struct view *view = NULL;

	(void)mkdir(cwd, 0755);
	(void)mkdir(home, 0755);
	policy = policy_new(cwd, home);
	source = policy_add_source(policy, SCOPE_FLAG, "--option", NULL, 0,
				   cwd);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(policy_add_path(policy, rules[i].list, rules[i].path,
			RULE_USER, origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(policy, NULL), 0);
	CHECK_INT(view_build(policy, &view, NULL), 0);
	view->private_tmp = false;	/* Where the test's directory is */
	return view;
}

static bool covers(const struct fast_check *plain, const char *name)
{
	const char *path = test_path(name);

	return fast_check_covers(plain, path);
}

TEST(ordinary_files_are_plain_and_protected_names_are_not)
{
	auto_view struct view *view = look(NULL, 0);
	struct fast_check *plain = fast_check_new(view, view);

	CHECK(covers(plain, "p/a"));
	CHECK(covers(plain, "p/a/b/c.o"));
	CHECK(covers(plain, "p/.hidden"));
	CHECK(!covers(plain, "p/.git"));	/* Leads to protected names */
	CHECK(!covers(plain, "p/.git/modules/a/b/config"));
	CHECK(!covers(plain, "p/.git/modules/a"));
	CHECK(covers(plain, "p/.git/modules/a/b/refs/heads/main"));
	/* Whether these lie in a git directory takes a look */
	CHECK(!covers(plain, "p/x/y/config"));
	CHECK(!covers(plain, "p/x/hooks/pre-commit"));
	CHECK(covers(plain, "p/.git/modules/a/b/objects/ab/cdef"));
	CHECK(covers(plain, "p/n/.git/objects/ab/cdef"));
	CHECK(covers(plain, "p/.git/refs/heads/main.lock"));
	CHECK(!covers(plain, "p"));
	CHECK(!covers(plain, "p/"));
	CHECK(!covers(plain, "pp/a"));
	CHECK(!covers(plain, "h/a"));
	CHECK(!covers(plain, "p/.mcp.json"));
	CHECK(!covers(plain, "p/a/.vscode"));
	CHECK(!covers(plain, "p/a/.vscode/x/y"));
	CHECK(!covers(plain, "p/.claude/settings.json"));
	CHECK(!covers(plain, "p/.claude"));	/* Above a protected file */
	CHECK(!covers(plain, "p/n/.git/hooks"));
	CHECK(!covers(plain, "p/n/.git/hooks/pre-commit"));
	CHECK(!covers(plain, "p/.git/x/.git/config"));
	CHECK(!covers(plain, "p/.git/modules/m/config"));
	CHECK(!fast_check_covers(plain, "/etc/passwd"));
	fast_check_free(plain);
}

TEST(paths_near_a_rule_are_not_plain)
{
	static const struct rule rules[] = {
		{ PATH_DENY_WRITE, "keep/me" }, { PATH_DENY_READ, "secret" },
		{ PATH_ALLOW_WRITE, "keep/me/not" },
		{ PATH_DENY_WRITE, "**/*.pem" },
	};
	auto_view struct view *view = look(rules, ARRAY_SIZE(rules));
	struct fast_check *plain = fast_check_new(view, view);

	CHECK(covers(plain, "p/keep/you"));
	CHECK(covers(plain, "p/keep/me-too"));
	CHECK(covers(plain, "p/keepers"));
	CHECK(covers(plain, "p/secrets/x"));
	CHECK(covers(plain, "p/x.pem.txt"));
	CHECK(!covers(plain, "p/keep"));
	CHECK(!covers(plain, "p/keep/me"));
	CHECK(!covers(plain, "p/keep/me/x"));
	CHECK(!covers(plain, "p/keep/me/not/x"));
	CHECK(!covers(plain, "p/secret"));
	CHECK(!covers(plain, "p/secret/x"));
	CHECK(!covers(plain, "p/x.pem"));
	CHECK(!covers(plain, "p/x.pem/y"));
	fast_check_free(plain);
}

TEST(a_path_is_plain_only_if_both_views_agree)
{
	static const struct rule before[] = {
		{ PATH_DENY_WRITE, "old" },
	};
	static const struct rule after[] = {
		{ PATH_DENY_WRITE, "new" }, { PATH_ALLOW_WRITE, "../late" },
	};
	auto_view struct view *first = look(before, ARRAY_SIZE(before));
	auto_view struct view *second = look(after, ARRAY_SIZE(after));
	struct fast_check *plain = fast_check_new(second, first);

	CHECK(covers(plain, "p/x"));
	CHECK(!covers(plain, "p/new/x"));
	CHECK(!covers(plain, "p/old/x"));
	CHECK(!covers(plain, "late/x"));
	fast_check_free(plain);
}

TEST(protected_names_in_a_private_tmp_are_plain)
{
	auto_view struct view *view = look(NULL, 0);
	struct fast_check *plain = fast_check_new(view, view);

	CHECK(!fast_check_covers(plain, "/tmp/.bashrc"));
	fast_check_free(plain);
	view->private_tmp = true;
	plain = fast_check_new(view, view);
	CHECK(fast_check_covers(plain, "/tmp/.bashrc"));
	if (path_is_below("/tmp", test_dir()))	/* Shown from the host's */
		CHECK(!covers(plain, "p/.bashrc"));
	fast_check_free(plain);
}

static uint32_t state;

/* Below @n, the same in every run */
static size_t draw(size_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

/* A path of a few names that rules and tables speak of */
static void make_path(struct buf *out)
{
	static const char *const names[] = {
		"a", "b", "ab", "a-", ".git", "hooks", "config", ".vscode",
		".claude", "settings.json", "commands", "modules", "x.pem",
		".mcp.json", "objects", ".x", ".GIT", "Hooks", ".Vscode",
	};

	out->len = 0;
	buf_addf(out, "%s/p", test_dir());
	for (size_t n = 1 + draw(5); n; n--)
		buf_addf(out, "/%s", names[draw(ARRAY_SIZE(names))]);
}

/* What the slow answer asks by text */
static void check_slowly(const struct view *view, const char *path)
{
	const char *below = path + strlen(test_dir()) + 2;

	CHECK(view_verdict(view, VIEW_WRITE, path).allowed);
	CHECK(!protected_match(view->policy, below));
	for (const char *in = protected_in_git(path); in;
	     in = protected_in_git(in - 1))
		CHECK(!protected_match_repo(view->policy, in));
	for (size_t i = 0; i < view->rules.len; i++)
		CHECK(!path_is_within(path, view->rules.v[i].path));
}

TEST(plain_paths_are_always_allowed_by_the_rules)
{
	size_t plain = 0, others = 0;

	state = 1;
	for (int round = 0; round < 200; round++) {
		char text[4][256];
		struct rule rules[4];
		auto_buf struct buf path = { 0 };
		auto_view struct view *view = NULL;
		struct fast_check *p;

		for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
			make_path(&path);
			snprintf(text[i], sizeof(text[i]), "%s%s",
				 buf_str(&path), draw(8) ? "" : "*");
			rules[i] = (struct rule){ draw(PATH_LISTS), text[i] };
		}
		view = look(rules, ARRAY_SIZE(rules));
		p = fast_check_new(view, view);
		for (int i = 0; i < 500; i++) {
			make_path(&path);
			if (!fast_check_covers(p, buf_str(&path))) {
				others++;
				continue;
			}
			plain++;
			check_slowly(view, buf_str(&path));
		}
		fast_check_free(p);
	}
	CHECK(plain > 1000 && others > 1000);
}
