/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-gitignore.c - the manual's own words as cases, and generated
 * lists on a real tree with git check-ignore as the oracle
 */

#include "policy/gitignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/glob.h"
#include "policy/test-gitignore-list.h"
#include "test.h"

/* @path relative to the list; a final slash makes it a directory */
static bool ignored(const char *text, const char *path)
{
	struct gitignore *list = gitignore_new("/w", text, NULL);
	auto_free char *whole = mem_printf("/w/%s", path);
	const size_t n = strlen(whole);
	const bool dir = whole[n - 1] == '/';
	bool r;

	CHECK(list);
	if (dir)
		whole[n - 1] = '\0';
	r = gitignore_match(list, whole, dir);
	gitignore_free(list);
	return r;
}

TEST(a_name_is_at_any_depth_and_a_slash_anchors)
{
	CHECK(ignored("foo", "foo"));
	CHECK(ignored("foo", "a/b/foo"));
	CHECK(!ignored("foo", "a/foo1"));
	CHECK(ignored("/foo", "foo"));
	CHECK(!ignored("/foo", "a/foo"));
	CHECK(ignored("doc/frotz", "doc/frotz"));
	CHECK(!ignored("doc/frotz", "a/doc/frotz"));
	CHECK(ignored("*.c", "a/b.c"));
	CHECK(!ignored("/*.c", "a/b.c"));
}

TEST(a_final_slash_means_directories_and_all_below_them)
{
	CHECK(ignored("foo/", "foo/"));
	CHECK(!ignored("foo/", "foo"));
	CHECK(ignored("foo/", "foo/x"));
	CHECK(ignored("foo/", "a/foo/x/y"));
	CHECK(!ignored("doc/frotz/", "a/doc/frotz/"));
}

TEST(the_last_match_wins_but_not_below_an_ignored_directory)
{
	CHECK(!ignored("*.c\n!a.c", "a.c"));
	CHECK(ignored("!a.c\n*.c", "a.c"));
	CHECK(ignored("/*\n!/foo\n/foo/*\n!/foo/bar", "foo/x"));
	CHECK(!ignored("/*\n!/foo\n/foo/*\n!/foo/bar", "foo/bar"));
	CHECK(ignored("foo\n!foo/bar", "foo/bar"));
}

TEST(comments_blanks_and_escapes_are_parsed)
{
	CHECK(!ignored("#a", "#a"));
	CHECK(ignored("\\#a", "#a"));
	CHECK(ignored("\\!a", "!a"));
	CHECK(ignored("a  ", "a"));
	CHECK(ignored("a\\ ", "a "));
	CHECK(ignored("a\r\n\n", "a"));
	CHECK(ignored("a\\*b", "a*b"));
	CHECK(!ignored("a\\*b", "axb"));
	CHECK(!ignored("a\\", "a\\"));
	CHECK(!ignored("", "a"));
	CHECK(!ignored("/", "a"));
	CHECK(!ignored("!", "a"));
}

TEST(bracket_sets_match_as_in_the_shell)
{
	CHECK(ignored("[!a]", "b"));
	CHECK(ignored("[^a]", "\xc3\xa9"));
	CHECK(!ignored("[!a]", "a"));
	CHECK(ignored("[]]", "]"));
	CHECK(ignored("[!]]", "x"));
	CHECK(ignored("[[:digit:]x]", "7"));
	CHECK(!ignored("[[:digit:]x]", "d"));
	CHECK(ignored("[a\\]]", "]"));
	CHECK(!ignored("[[:nope:]]", "n"));
	CHECK(!ignored("[a", "[a"));
	CHECK(!ignored("[z-a]", "[z-a]"));
	CHECK(!ignored("a[!x]b", "a/b"));
}

TEST(double_stars_match_whole_components)
{
	CHECK(ignored("**/foo", "a/b/foo"));
	CHECK(ignored("**/foo/bar", "a/foo/bar"));
	CHECK(ignored("abc/**", "abc/x/y"));
	CHECK(!ignored("abc/**", "abc/"));
	CHECK(ignored("a/**/b", "a/b"));
	CHECK(ignored("a/**/b", "a/x/y/b"));
	CHECK(!ignored("a/*/b", "a/x/y/b"));
	CHECK(ignored("x?a**/b", "xyab/b"));
	CHECK(!ignored("x?a**/b", "xya/c/b"));
}

TEST(a_permission_rule_refuses_negation)
{
	struct err err = { 0 };
	struct glob *glob;

	CHECK(!gitignore_glob("/w", "!x", &err));
	CHECK_INT(err.code, -EINVAL);
	CHECK_CONTAINS(err.msg, "'!x'");
	glob = gitignore_glob("/w", "\\!x", &err);
	CHECK(glob && glob_match(glob, "/w/a/!x"));
	glob_free(glob);
}

static void check_literal(const char *dir, const char *text, const char *want)
{
	struct glob *glob = gitignore_glob(dir, text, NULL);
	auto_free char *literal = glob ? pattern_literal(glob) : NULL;

	CHECK(glob);
	CHECK(want ? literal && !strcmp(literal, want) : !literal);
	glob_free(glob);
}

TEST(a_literal_pattern_yields_its_path)
{
	struct glob *glob = gitignore_glob("/", "a/b", NULL);

	check_literal("/w", "/a\\*b/c/", "/w/a*b/c");
	check_literal("/", "a/b", "/a/b");
	check_literal("/w", "name", NULL);
	CHECK(glob_match(glob, "/a/b"));
	CHECK(!glob_match(glob, "/a/b/c"));
	CHECK(!glob_match(glob, "/a/bc"));
	glob_free(glob);
}

TEST(a_rule_that_can_never_match_is_an_error)
{
	static const char *const never[] = {
		"[a", "a\\", "/", "[[:nope:]]", "x[", "", "//",
	};
	struct gitignore *list;

	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		struct err err = { 0 };

		CHECK(!gitignore_glob("/w", never[i], &err));
		CHECK_INT(err.code, -ENODATA);
		CHECK_CONTAINS(err.msg, "can never match");
		list = gitignore_new("/w", never[i], NULL);
		CHECK(!gitignore_match(list, "/w/a", false));
		gitignore_free(list);
	}
}

TEST(limits_name_the_line)
{
	struct err err = { 0 };
	auto_buf struct buf b = { 0 };
	struct gitignore *list;

	buf_adds(&b, "ok\n");
	for (int i = 0; i < GLOB_PATTERN_MAX - 2; i++)
		buf_addc(&b, 'a');
	list = gitignore_new("/w", b.p, &err);
	CHECK(list);
	gitignore_free(list);
	buf_adds(&b, "aaaa");
	CHECK(!gitignore_new("/w", b.p, &err));
	CHECK_CONTAINS(err.msg, "line 2: ");
	CHECK_CONTAINS(err.msg, "too long");
}

/* The oracle. Each generated list stands in a directory of its own with a copy
 * of one tree, so that git is started once for all of them.
 */
static const char *const tree[] = {
	"a/", "a/a", "a/b/", "a/b/a", "a/b/c/", "a/b/c/a", "a/b/c/ab", "b",
	"ab", "a.c", "foo/", "foo/a.c", "foo/bar/", "foo/bar/a", "foo/bar/b.c",
	"ba/", "ba/ab", "ba/foo/", "ba/foo/bar", "x y", "!x", "#x", "a*b",
	"[a]", "c]", "-", "end ", "a\\b", "1", "A", "\xc3\xa9", "foo/\xc3\xa9",
};

static const char *const parts[] = {
	"a", "a", "b", "ab", "foo", "bar", ".c", "*", "*", "**", "**", "/",
	"/", "/", "/**", "**/", "/**/", "?", "[ab]", "[!a]", "[^b]", "[a-c]",
	"[]]", "[!]]", "[[:alpha:]]", "[[:upper:][:digit:]]", "[[:nope:]]",
	"[[:punct:]]", "\\", "\\*", "\\a", "\\[", "\\/", "[", "]", "-", " ",
	"!", "#", "\xc3\xa9", "[a-", "[\\]]", "[a\\-c]", "[--a]", "1", "A",
	"x", "[/]", "[a/b]", "[[:a]", "[[:alpha:]-z]",
};

static void random_list(uint32_t *state, struct buf *b)
{
	for (uint32_t lines = test_random(state) % 3 + 1; lines; lines--) {
		if (!(test_random(state) % 6))
			buf_addc(b, '!');
		for (uint32_t n = test_random(state) % 6 + 1; n; n--)
			buf_adds(b, parts[test_random(state) %
					  ARRAY_SIZE(parts)]);
		buf_addc(b, '\n');
	}
}

static void make_tree(const char *dir, const char *list, struct buf *paths)
{
	auto_free char *file = mem_printf("%s/.gitignore", dir);

	test_write(file, list);
	for (size_t i = 0; i < ARRAY_SIZE(tree); i++) {
		auto_free char *path = mem_printf("%s/%s", dir, tree[i]);
		const size_t n = strlen(path);

		if (path[n - 1] == '/') {
			path[n - 1] = '\0';
			CHECK_INT(mkdir(path, 0755), 0);
		} else {	/* Any file will do; a second name is cheap */
			CHECK_INT(link(file, path), 0);
		}
		buf_adds(paths, path);
		buf_addc(paths, '\0');
	}
}

/* Run git with nothing of the caller's configuration; its exit status */
static int run_git(const char *const *argv, const char *in, const char *out)
{
	const char *env[] = {
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"HOME=/nonexistent", "LC_ALL=C", "PATH=/usr/bin:/bin", NULL,
	};
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		const int from = open(in, O_RDONLY);
		const int to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);

		if (from < 0 || to < 0 || chdir(test_dir()) < 0 ||
		    dup2(from, 0) < 0 || dup2(to, 1) < 0)
			_exit(126);
		execvpe("git", (char *const *)(uintptr_t)argv,
			(char *const *)(uintptr_t)env);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_bytes(const char *path, const struct buf *b)
{
	auto_fclose FILE *f = fopen(path, "we");

	CHECK(f);
	CHECK(fwrite(b->p, 1, b->len, f) == b->len);
}

/* Compare one list; returns how many of its paths are ignored. *@answer is
 * git's output: those that it ignores, in the order they were asked.
 */
static unsigned int compare(const char *dir, const char *text,
			    const char **answer, const char *end)
{
	struct gitignore *list = gitignore_new(dir, text, NULL);
	const bool bytes = strpbrk(text, "?[") != NULL;
	unsigned int hits = 0;

	CHECK(list);
	for (size_t i = 0; i < ARRAY_SIZE(tree); i++) {
		auto_free char *path = mem_printf("%s/%s", dir, tree[i]);
		const size_t n = strlen(path);
		const bool is_dir = path[n - 1] == '/';
		bool git;

		if (is_dir)
			path[n - 1] = '\0';
		git = *answer < end && !strcmp(*answer, path);
		if (git)
			*answer += strlen(*answer) + 1;
		hits += git;
		/* A "?" of git's is a byte, ours is a character */
		if (bytes && strchr(path, '\xc3'))
			continue;
		if (gitignore_match(list, path, is_dir) != git)
			test_fail(__FILE__, __LINE__,
				  "git says %d: '%s' in\n%s", git,
				  tree[i], text);
	}
	gitignore_free(list);
	return hits;
}

TEST(generated_lists_ignore_what_git_ignores)
{
	enum { LISTS = 600 };
	static const char *const init[] = { "git", "init", "-q", ".", NULL };
	static const char *const ask[] = {
		"git", "check-ignore", "--no-index", "-z", "--stdin", NULL,
	};
	const char *in = test_path("in");
	const char *out = test_path("out");
	auto_buf struct buf lists = { 0 }, paths = { 0 }, answer = { 0 };
	const char *text, *at;
	uint32_t state = 4711;
	unsigned int hits = 0;
	int r = run_git(init, "/dev/null", out);
	FILE *f;

	if (r == 127)
		test_skip("git is not installed");
	CHECK_INT(r, 0);
	for (int i = 0; i < LISTS; i++) {
		auto_free char *dir = mem_printf("%s/%d", test_dir(), i);
		auto_buf struct buf list = { 0 };

		random_list(&state, &list);
		make_tree(dir, list.p, &paths);
		buf_add(&lists, list.p, list.len + 1);
	}
	write_bytes(in, &paths);
	r = run_git(ask, in, out);
	CHECK(r == 0 || r == 1);

	f = fopen(out, "re");
	CHECK(f);
	for (int c; (c = getc(f)) != EOF;)
		buf_addc(&answer, (char)c);
	fclose(f);
	text = lists.p;
	at = buf_str(&answer);
	for (int i = 0; i < LISTS; i++, text += strlen(text) + 1) {
		auto_free char *dir = mem_printf("%s/%d", test_dir(), i);

		hits += compare(dir, text, &at, answer.p + answer.len);
	}
	CHECK(at == answer.p + answer.len);	/* All of it was understood */
	printf("# %d lists, %zu paths each, %u ignored\n", LISTS,
	       ARRAY_SIZE(tree), hits);
	CHECK(hits > LISTS);
}
