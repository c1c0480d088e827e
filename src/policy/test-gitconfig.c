/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-gitconfig.c - removal of git settings that run programs */

#include "policy/gitconfig.h"

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"

static bool note(void *arg, const char *key, const char *value)
{
	struct buf *keys = arg;

	(void)value;
	buf_addf(keys, "%s ", key);
	return false;
}

static void check(const char *text, const char *keys, const char *left)
{
	auto_buf struct buf out = { 0 }, found = { 0 };
	const int r = gitconfig_clean(text, strlen(text), &out, note, &found);

	if (r < 0)
		test_fail(__FILE__, __LINE__, "refused: %s", text);
	CHECK_STR(buf_str(&found), keys);
	if (left)
		CHECK_STR(buf_str(&out), left);
}

TEST(the_config_of_a_fresh_repository_is_unchanged)
{
	static const char fresh[] =
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
		"\tbare = false\n[remote \"origin\"]\n"
		"\turl = https://example.com/a.git\n"
		"\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
		"[branch \"main\"]\n\tremote = origin\n";

	check(fresh, "", fresh);
}

TEST(keys_that_run_programs_are_removed)
{
	check("[core]\n\tbare = false\n\tfsmonitor = ./x\n\tfilemode = true\n",
	      "core.fsmonitor ",
	      "[core]\n\tbare = false\n\t\n\tfilemode = true\n");
	check("[CORE]\nHooksPath=x\n", "core.hookspath ", NULL);
	check("[core] sshCommand = x\n", "core.sshcommand ", NULL);
	check("[core]fsmonitor\n", "core.fsmonitor ", NULL);
	check("\xef\xbb\xbf[core]\npager = x", "core.pager ", NULL);
	check("[filter \"lfs\"]\n\tsmudge = x\n\tclean = y\n\trequired\n",
	      "filter.lfs.smudge filter.lfs.clean ", NULL);
	check("[filter.lfs]\nprocess = x\n", "filter.lfs.process ", NULL);
	check("[credential \"https://x\"]\nhelper = !x\n",
	      "credential.https://x.helper ", NULL);
	check("[alias]\nst = -c core.fsmonitor=x status\nx = !evil\n",
	      "alias.st alias.x ", NULL);
	check("[gc]\nrecentObjectsHook = x\n[lfs]\nurl = https://x/\n",
	      "gc.recentobjectshook lfs.url ", NULL);
	check("[submodule \"a\"]\nupdate = !x\nupdate = merge\n",
	      "submodule.a.update ", NULL);
	check("[include]\npath = x\n[includeIf \"gitdir:/\"]\npath = y\n",
	      "include.path includeif.gitdir:/.path ", NULL);
	check("[a \"]\\\"x\"]\nb = c\n[core]\r\neditor = x\r\n",
	      "a.]\"x.b core.editor ", NULL);
}

TEST(remote_urls_must_be_ordinary_addresses)
{
	static const char *const good[] = {
		"https://example.org/a.git", "git@example.org:a.git", "../b",
		"/srv/a.git", "ssh://example.org/a", "file:///a", "origin", ".",
	};
	static const char *const bad[] = {
		"ext::sh -c /x", "ext::x", "fd::7", "-x", "--upload-pack=x",
		"foo://x", "hg::https://example.org/a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK(gitconfig_is_harmless("remote.a.b.url", good[i]));
		CHECK(gitconfig_is_harmless("branch.main.remote", good[i]));
		CHECK(!gitconfig_is_harmless("remote.url", good[i]));
		CHECK(!gitconfig_is_for_home("remote.a.url", good[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(!gitconfig_is_harmless("remote.a.url", bad[i]));
		CHECK(!gitconfig_is_harmless("branch.main.remote", bad[i]));
	}
}

TEST(keys_are_compared_by_their_full_name)
{
	CHECK(gitconfig_is_harmless("color.ui", "auto"));
	CHECK(gitconfig_is_for_home("color.ui", "auto"));
	CHECK(!gitconfig_is_harmless("color.x.y", "auto"));
	CHECK(!gitconfig_is_harmless("user.x.name", "n"));
	CHECK(!gitconfig_is_harmless("core.bare", "x"));
	CHECK(gitconfig_is_harmless("core.bare", ""));
	CHECK(gitconfig_is_harmless("filter.lfs.clean", "git-lfs clean -- %f"));
	CHECK(!gitconfig_is_harmless("filter.lfs.clean", "git-lfs clean -- %f;x"));
	CHECK(!gitconfig_is_harmless("filter.x.clean", "git-lfs clean -- %f"));
	CHECK(!gitconfig_is_harmless("remote.a.url.x", "."));
	CHECK(!gitconfig_is_harmless("branch.main.mergeoptions", "-s x"));
	CHECK(gitconfig_is_harmless("submodule.a/b..c.path", "a/b..c"));
	CHECK(!gitconfig_is_harmless("submodule.a/../b.path", "a"));
	CHECK(!gitconfig_is_harmless("submodule.-a.path", "a"));
	CHECK(!gitconfig_is_harmless("submodule.a.path", "../a"));
	CHECK(!gitconfig_is_harmless("submodule.a.path", "/a"));
	CHECK(!gitconfig_is_harmless("submodule.a.path", "-a"));
}

TEST(continued_values_are_removed_completely)
{
	check("[core]\nfsmonitor = a \\\n  b ; c\nbare = true\n",
	      "core.fsmonitor ", "[core]\nbare = true\n");
	check("[core]\nfilemode = a # x \\\nfsmonitor = b\n", "core.fsmonitor ",
	      NULL);
	check("[user]\nname = \"a\\\n[core]\\\nfsmonitor=x\"\n", "", NULL);
	check("[core]\nfsmonitor = \"a # b\"\n", "core.fsmonitor ", NULL);
}

TEST(a_config_that_git_cannot_parse_is_refused)
{
	static const char *const bad[] = {
		"a = b\n", "[core\n", "[]\n", "[core]\n= x\n", "[core]\na b\n",
		"[core]\na = \"x\n", "[core]\na = \\q\n", "[a \"b]\n", "\001",
		"[core]\na_b = 1\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf struct buf out = { 0 };

		CHECK_INT(gitconfig_clean(bad[i], strlen(bad[i]), &out, NULL,
					  NULL), -EINVAL);
	}
}

static int become(const char *from, const char *to, const char *want)
{
	auto_buf struct buf old = { 0 }, new = { 0 }, added = { 0 };
	int r;

	buf_adds(&old, from);
	buf_adds(&new, to);
	r = gitconfig_may_become(&old, &new, &added);
	if (want)
		CHECK_STR(buf_str(&added), want);
	return r;
}

TEST(only_harmless_keys_may_change)
{
#define ORIGIN "[remote \"origin\"]\nurl = https://example.org/a\n" \
	       "fetch = +refs/heads/*:refs/remotes/origin/*\n"
#define EVIL "[core]\nfsmonitor = ./x\n"
#define MAIN "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n"
	CHECK_INT(become(EVIL, EVIL "[user]\nname = x\n", ""), 0);
	CHECK_INT(become(ORIGIN, ORIGIN MAIN, ""), 0);
	CHECK_INT(become(ORIGIN, ORIGIN "[branch \"b\"]\nremote = ../x\n",
			 "branch.b.remote = ../x"), 0);
	CHECK_INT(become("[remote \"b\"]\nurl = ../b\n",
			 "[remote \"b\"]\nurl = ../b\nfetch = x\n", ""), 0);
	CHECK_INT(become(ORIGIN, ORIGIN "[remote \"b\"]\nurl = ../b\n",
			 "remote.b.url = ../b"), 0);
	CHECK_INT(become(ORIGIN MAIN "[user]\nname = x\n", ORIGIN MAIN, ""), 0);
	CHECK_INT(become(ORIGIN, ORIGIN EVIL, NULL), -EACCES);
	CHECK_INT(become(EVIL, "", NULL), -EACCES);
	CHECK_INT(become(EVIL, "[core]\nfsmonitor = ./y\n", NULL), -EACCES);
	CHECK_INT(become(ORIGIN, "", NULL), -EACCES);
	CHECK_INT(become(ORIGIN, ORIGIN "[remote \"origin\"]\nurl = ../b\n",
			 NULL), -EACCES);
	CHECK_INT(become(ORIGIN, ORIGIN "[remote \"origin\"]\nmirror\n", NULL),
		  -EACCES);
	/* git branch -d, and -m */
	CHECK_INT(become(ORIGIN MAIN, ORIGIN, ""), 0);
	CHECK_INT(become(ORIGIN MAIN, ORIGIN "[branch \"b\"]\nremote = origin\n",
			 ""), 0);
	CHECK_INT(become(ORIGIN MAIN, ORIGIN "[branch \"main\"]\nremote = b\n",
			 NULL), -EACCES);
	/* git submodule deinit, and git rm */
#define SUB "[submodule \"s\"]\nurl = ../s\n"
	CHECK_INT(become(SUB, "", ""), 0);
	CHECK_INT(become("", SUB, "submodule.s.url = ../s"), 0);
	CHECK_INT(become(SUB, "[submodule \"s\"]\nurl = ../t\n", NULL), -EACCES);
	CHECK_INT(become("", "[remote \"b\"]\nurl = ext::x\n", NULL), -EACCES);
	CHECK_INT(become("", "[core\n", NULL), -EINVAL);
	/* A value that looks like another setting */
	CHECK_INT(become("[a]\nb = \"1\\na.c\"\n", "[a]\nb = 1\nc\n", NULL),
		  -EACCES);
}

static void list(void *arg, const char *key, const char *value)
{
	buf_addf(arg, "%s=<%s>\n", key, value);
}

TEST(each_setting_is_read_as_git_reads_it)
{
	static const char text[] = "\xef\xbb\xbf# a comment\n"
		"[Core]\n\tHooksPath = \"a\\tb\" c \\\nd ; why\n\tbare\n"
		"[includeIf \"gitdir:~/W.x/\"] path=../y\n"
		"[branch.Main] merge = \"x # y\"";
	auto_buf struct buf out = { 0 };

	CHECK_INT(gitconfig_each(text, strlen(text), list, &out), 0);
	CHECK_STR(buf_str(&out), "core.hookspath=<a\tb c d>\n"
		  "core.bare=<>\n"
		  "includeif.gitdir:~/W.x/.path=<../y>\n"
		  "branch.main.merge=<x # y>\n");
	CHECK_INT(gitconfig_each("[a]\nb = \\x\n", 11, list, &out), -EINVAL);
}
