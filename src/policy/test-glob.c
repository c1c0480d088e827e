/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-glob.c - the linear matcher against words, and against a naive
 * backtracking one that is kept here as its oracle
 */

#include "policy/glob.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "test.h"

static bool matches(const char *pattern, const char *path)
{
	struct err err = { 0 };
	struct glob *glob = glob_new(pattern, &err);
	bool r;

	if (!glob)
		test_fail(__FILE__, __LINE__, "'%s': %s", pattern, err.msg);
	r = glob_match(glob, path);
	glob_free(glob);
	return r;
}

TEST(a_literal_matches_itself)
{
	CHECK(matches("/a/b", "/a/b"));
	CHECK(!matches("/a/b", "/a/b/c"));
	CHECK(!matches("/a/b", "/a"));
	CHECK(!matches("/a/b", "/a/bb"));
	CHECK(matches("/", "/"));
	CHECK(matches("/a\nb\xff", "/a\nb\xff"));
}

TEST(star_and_question_mark_do_not_match_a_slash)
{
	CHECK(matches("/a/*.c", "/a/x.c"));
	CHECK(matches("/a/*.c", "/a/.c"));
	CHECK(!matches("/a/*.c", "/a/b/x.c"));
	CHECK(!matches("/a/*", "/a/b/c"));
	CHECK(matches("/a/?", "/a/b"));
	CHECK(!matches("/a/?", "/a/"));
	CHECK(!matches("/a?b", "/a/b"));
	CHECK(matches("/*/b", "/x/b"));
	CHECK(!matches("/*/b", "/x/y/b"));
}

TEST(two_stars_cross_components)
{
	CHECK(matches("/a/**", "/a/b"));
	CHECK(matches("/a/**", "/a/b/c"));
	CHECK(!matches("/a/**", "/a"));
	CHECK(!matches("/a/**", "/ab"));
	CHECK(matches("/a/**/b", "/a/b"));
	CHECK(matches("/a/**/b", "/a/x/y/b"));
	CHECK(!matches("/a/**/b", "/a/xb"));
	CHECK(matches("/a/**b", "/a/x/yb"));
	CHECK(matches("/**/*.pem", "/etc/ssl/x.pem"));
	CHECK(matches("/**/*.pem", "/x.pem"));
	CHECK(matches("/**/a/**/b/**", "/x/a/y/z/b/c"));
	CHECK(!matches("/**/a/**/b/**", "/x/a/y/z/b"));
	CHECK(matches("/a***/b", "/a/x/b"));
	CHECK(matches("/a***/b", "/axb"));
}

TEST(sets_have_ranges_and_no_negation)
{
	CHECK(matches("/[abc]", "/b"));
	CHECK(!matches("/[abc]", "/d"));
	CHECK(matches("/[a-c0-9]", "/7"));
	CHECK(matches("/[!a]", "/!"));
	CHECK(matches("/[!a]", "/a"));
	CHECK(!matches("/[!a]", "/b"));
	CHECK(matches("/[^a]", "/^"));
	CHECK(matches("/[a-]", "/-"));
	CHECK(matches("/[*]", "/*"));
	CHECK(!matches("/[*]", "/x"));
	CHECK(matches("/[[]", "/["));
	CHECK(!matches("/a[.-0]b", "/a/b"));	/* "/" is between "." and "0" */
}

TEST(malformed_sets_are_literal_text)
{
	CHECK(matches("/[]", "/[]"));
	CHECK(matches("/[z-a]", "/[z-a]"));
	CHECK(!matches("/[z-a]", "/z"));
	CHECK(matches("/[a", "/[a"));
	CHECK(matches("/[a/b]", "/[a/b]"));
	CHECK(!matches("/[a/b]", "/a"));
	CHECK(matches("/a]", "/a]"));
}

TEST(a_question_mark_matches_one_UTF_8_character_or_stray_byte)
{
	CHECK(matches("/?", "/\xc3\xa9"));
	CHECK(!matches("/??", "/\xc3\xa9"));
	CHECK(matches("/?", "/\xe2\x82\xac"));
	CHECK(matches("/?", "/\xf0\x9f\x94\x94"));
	CHECK(matches("/?", "/\xff"));
	CHECK(matches("/??", "/\xc3x"));
	CHECK(matches("/*\xf0\x9f\x94\x94", "/a\xf0\x9f\x94\x94"));
	CHECK(matches("/*\xe2\x82\xac", "/a\xe2\x82\xac"));
	CHECK(matches("/[\xc3\xa0-\xc3\xbc]", "/\xc3\xa9"));
	CHECK(!matches("/[\xc3\xa0-\xc3\xbc]", "/\xc3"));
	CHECK(matches("/*\xff", "/a\xff"));
	CHECK(!matches("/*\xff", "/a\xfe"));
}

TEST(text_without_pattern_characters_is_literal)
{
	CHECK(glob_is_pattern("/a/*"));
	CHECK(glob_is_pattern("a?"));
	CHECK(glob_is_pattern("/[id]/x"));
	CHECK(!glob_is_pattern("/a/b"));
	CHECK(!glob_is_pattern("/a[b/c]"));
	CHECK(!glob_is_pattern("/[]"));
	CHECK(!glob_is_pattern("/[z-a]"));
	CHECK(!glob_is_pattern(""));
}

static void check_prefix(const char *pattern, const char *want)
{
	struct glob *glob = glob_new(pattern, NULL);

	CHECK(glob);
	CHECK_STR(glob_prefix(glob), want);
	glob_free(glob);
}

TEST(the_prefix_is_the_directory_above_the_first_pattern_character)
{
	check_prefix("/a/b*c/d", "/a");
	check_prefix("/a/b/*", "/a/b");
	check_prefix("/a/**", "/a");
	check_prefix("/*", "/");
	check_prefix("/**/x", "/");
	check_prefix("/a[b/c]/[x]", "/a[b/c]");
	check_prefix("/a/b", "/a");
}

static bool may(const char *pattern, const char *dir)
{
	struct glob *glob = glob_new(pattern, NULL);
	bool r;

	CHECK(glob);
	r = glob_may_match_below(glob, dir);
	glob_free(glob);
	return r;
}

TEST(walks_are_pruned_where_nothing_can_match)
{
	CHECK(may("/a/b/*.c", "/"));
	CHECK(may("/a/b/*.c", "/a"));
	CHECK(may("/a/b/*.c", "/a/b"));
	CHECK(!may("/a/b/*.c", "/a/bb"));
	CHECK(!may("/a/bc/*.c", "/a/b"));
	CHECK(!may("/a/b/*.c", "/x"));
	CHECK(!may("/a/b/*.c", "/a/b/c"));
	CHECK(may("/a/*/c", "/a/b"));
	CHECK(!may("/a/*/c", "/a/b/c"));
	CHECK(may("/a/**/c", "/a/b/c/d"));
	CHECK(may("/a/**", "/a/b"));
	CHECK(may("/*", "/"));
	CHECK(!may("/*", "/a"));
	CHECK(!may("/a", "/a"));
	CHECK(may("/a", "/"));
	CHECK(may("/**/x", "/"));
}

TEST(patterns_beyond_the_limits_are_refused_with_a_message)
{
	auto_free char *longest = mem_zalloc(GLOB_PATTERN_MAX + 2);
	auto_free char *set = mem_zalloc(400);
	struct err err = { 0 };
	struct glob *glob;

	memset(longest, '?', GLOB_PATTERN_MAX);
	longest[0] = '/';
	glob = glob_new(longest, &err);
	CHECK(glob);
	CHECK(glob_match(glob, longest));
	glob_free(glob);

	longest[GLOB_PATTERN_MAX] = '?';
	CHECK(!glob_new(longest, &err));
	CHECK_INT(err.code, -EINVAL);
	CHECK_CONTAINS(err.msg, "too long");
	CHECK(glob_is_pattern(longest));

	memcpy(set, "/[", 2);
	memset(set + 2, 'a', 256);
	set[258] = ']';
	CHECK(matches(set, "/a"));
	memset(set + 2, 'a', 257);
	set[259] = ']';
	CHECK(glob_is_pattern(set));
	CHECK(!glob_new(set, &err));
	CHECK_CONTAINS(err.msg, "column 2");

	CHECK(!glob_new("a/*", &err));
	CHECK_CONTAINS(err.msg, "absolute");
	CHECK(!glob_new("", &err));
}

/* The oracle. Byte by byte, straight from the words of the header; takes
 * exponential time, so its inputs are short and ASCII.
 */
static bool naive(const char *p, const char *s);

static bool naive_rest(const char *p, const char *s, bool cross)
{
	for (;; s++) {
		if (naive(p, s))
			return true;
		if (!*s || (*s == '/' && !cross))
			return false;
	}
}

/* "**" and a slash: nothing, or any text that ends in a slash */
static bool naive_dirs(const char *p, const char *s)
{
	if (naive(p, s))
		return true;
	for (; *s; s++) {
		if (*s == '/' && naive(p, s + 1))
			return true;
	}
	return false;
}

/* Returns the length of a set at @p, 0 if it is none; *@in if it holds @c */
static size_t naive_set(const char *p, char c, bool *in)
{
	const char *end = strchr(p, ']'), *slash = strchr(p, '/');

	*in = false;
	if (!end || end == p + 1 || (slash && slash < end))
		return 0;
	for (const char *m = p + 1; m < end; m++) {
		char low = *m, high = *m;

		if (m[1] == '-' && m + 2 < end) {
			high = m[2];
			m += 2;
		}
		if (high < low)
			return 0;
		if (c >= low && c <= high && c && c != '/')
			*in = true;
	}
	return (size_t)(end - p) + 1;
}

static bool naive(const char *p, const char *s)
{
	size_t stars = strspn(p, "*"), n;
	bool in;

	if (!*p)
		return !*s;
	if (stars == 2 && p[2] == '/')
		return naive_dirs(p + 3, s);
	if (stars == 3 && p[3] == '/')
		return naive_rest(p + 1, s, false);
	if (stars > 3 && p[stars] == '/')
		return naive_rest(p + stars - 2, s, true);
	if (stars)
		return naive_rest(p + stars, s, stars > 1);
	if (*p == '[' && (n = naive_set(p, *s, &in)) != 0)
		return in && naive(p + n, s + 1);
	if (*p == '?')
		return *s && *s != '/' && naive(p + 1, s + 1);
	return *p == *s && naive(p + 1, s + 1);
}

static void random_text(uint32_t *state, const char *alphabet, size_t max,
			char *out)
{
	const size_t n = test_random(state) % max;

	out[0] = '/';
	for (size_t i = 1; i <= n; i++)
		out[i] = alphabet[test_random(state) % strlen(alphabet)];
	out[n + 1] = '\0';
}

/* One way to ask whether @glob, made of @pattern, matches @path */
typedef bool matcher(const struct glob *glob, const char *pattern,
		     const char *path);

static void compare(uint32_t state, size_t longest, matcher *is,
		    matcher *should)
{
	enum { PATTERNS = 20000, PATHS = 30 };
	unsigned int hits = 0;

	for (int i = 0; i < PATTERNS; i++) {
		struct glob *glob;
		char p[16], s[16];

		random_text(&state, "aab//***?[]-.", 12, p);
		glob = glob_new(p, NULL);
		CHECK(glob);
		for (int j = 0; j < PATHS; j++) {
			bool want;

			random_text(&state, "aab/", longest, s);
			want = should(glob, p, s);
			hits += want;
			if (is(glob, p, s) != want)
				test_fail(__FILE__, __LINE__,
					  "'%s' on '%s' is not %d", p, s, want);
		}
		glob_free(glob);
	}
	printf("# %u hits\n", hits);
	CHECK(hits > PATTERNS / 2);	/* Else the test proves nothing */
}

static bool whole_matches(const struct glob *glob, const char *pattern,
			  const char *path)
{
	(void)pattern;
	return glob_match(glob, path);
}

static bool naive_matches(const struct glob *glob, const char *pattern,
			  const char *path)
{
	(void)glob;
	return naive(pattern, path);
}

TEST(random_patterns_match_as_the_naive_matcher_says)
{
	compare(20260, 6, whole_matches, naive_matches);
}

/* As a walk asks: directory by directory, then for the name */
static bool walk_matches(const struct glob *glob, const char *pattern,
			 const char *path)
{
	uint64_t at = glob_at(glob, "/");
	const char *name = path + 1, *slash;

	(void)pattern;
	/* No walk finds such a path */
	if (strstr(path, "//") || !path[1] || path[strlen(path) - 1] == '/')
		return glob_match(glob, path);
	for (; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
		auto_free char *dir = mem_strndup(path, (size_t)(slash - path));
		auto_free char *last = mem_strndup(name,
						   (size_t)(slash - name));

		if (at == GLOB_NOWHERE)
			return false;
		if (at == GLOB_FAR)
			at = glob_at(glob, dir);
		else
			at = glob_step(glob, at, last);
		/* What is told step by step is what the whole path tells */
		if (at != GLOB_FAR && at != glob_at(glob, dir))
			test_fail(__FILE__, __LINE__, "'%s' is not '%s'", dir,
				  path);
	}
	if (at == GLOB_FAR)
		return glob_match(glob, path);
	return at != GLOB_NOWHERE && glob_may_end(glob, name) &&
	       glob_match_at(glob, at, name);
}

TEST(a_walk_matches_as_whole_paths_do)
{
	compare(4711, 8, walk_matches, whole_matches);
}

TEST(a_long_pattern_is_matched_against_whole_paths)
{
	char p[80] = "/d/";
	struct glob *glob;

	memset(p + 3, '?', 62);
	glob = glob_new(p, NULL);
	CHECK(glob);
	CHECK(glob_at(glob, "/d") != GLOB_FAR);
	CHECK(glob_at(glob, "/e") == GLOB_NOWHERE);
	CHECK(glob_at(glob, "/") == GLOB_FAR);
	glob_free(glob);
	p[65] = '?';
	glob = glob_new(p, NULL);
	CHECK(glob);
	CHECK(glob_at(glob, "/d") == GLOB_FAR);
	glob_free(glob);
}

/* True if @p matches something below @dir, among short paths */
static bool found_below(const char *p, const char *dir)
{
	static const char *const tails[] = {
		"a", "b", "a/a", "a/b", "b/a", "b/b", "a/a/a", "a/b/a", "b/a/b",
		"ab", "ba", "aa", "bb", ".", "a.", "a/.", "-", "[", "]", "[]",
	};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		snprintf(path, sizeof(path), "%s%s%s", dir,
			 dir[1] ? "/" : "", tails[i]);
		if (naive(p, path))
			return true;
	}
	return false;
}

TEST(a_pruned_directory_never_holds_a_match)
{
	static const char *const dirs[] = {
		"/", "/a", "/b", "/a/a", "/a/b", "/b/a", "/aa", "/a/b/a",
	};
	uint32_t state = 7;
	unsigned int pruned = 0, found = 0;

	for (int i = 0; i < 20000; i++) {
		struct glob *glob;
		char p[16];

		random_text(&state, "aab//***?[]-.", 12, p);
		glob = glob_new(p, NULL);
		CHECK(glob);
		for (size_t j = 0; j < ARRAY_SIZE(dirs); j++) {
			const bool below = found_below(p, dirs[j]);
			const bool r = glob_may_match_below(glob, dirs[j]);

			pruned += !r;
			found += below;
			if (below && !r)
				test_fail(__FILE__, __LINE__,
					  "'%s' pruned at '%s'", p, dirs[j]);
		}
		glob_free(glob);
	}
	CHECK(pruned > 1000);
	CHECK(found > 1000);
}

/* Steps, not seconds: processor time of a worst case against a bound that
 * only a non-linear matcher misses, with a factor of hundreds to spare
 */
TEST(the_worst_pattern_takes_polynomial_time)
{
	enum { N = 4000, HALF = GLOB_PATTERN_MAX / 2 - 2 };
	auto_free char *p = mem_zalloc(GLOB_PATTERN_MAX + 1);
	auto_free char *s = mem_zalloc(N + 2);
	struct glob *glob;
	clock_t began;

	for (int i = 0; i < HALF; i++)
		memcpy(p + 1 + 2 * i, i % 8 ? "*a" : "?a", 2);
	p[0] = '/';
	memcpy(p + 1 + 2 * HALF, "[b]", 3);	/* Not known by its end */
	memset(s, 'a', N);
	s[0] = '/';
	glob = glob_new(p, NULL);
	CHECK(glob);
	began = clock();
	CHECK(!glob_match(glob, s));
	CHECK(clock() - began < 5 * CLOCKS_PER_SEC);
	printf("# %.1f ms\n", (double)(clock() - began) * 1e3 / CLOCKS_PER_SEC);
	glob_free(glob);
}
