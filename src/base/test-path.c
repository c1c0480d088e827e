/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-path.c - normal form, parents and prefixes of paths */

#include "base/path.h"

#include "base/own.h"
#include "test.h"

static void check(const char *base, const char *path, const char *want)
{
	auto_free char *got = path_resolve(base, path);

	CHECK_STR(got, want);
}

TEST(spellings_of_one_path_are_normalised_to_one)
{
	check("/w", "a", "/w/a");
	check("/w", "./a//b/./c/", "/w/a/b/c");
	check("/w", "../x", "/x");
	check("/w", "../../../x", "/x");
	check("/w", "/a/../b", "/b");
	check("/w", "//a", "/a");
	check("/w", ".", "/w");
	check("/", "", "/");
	check("/w", "/..", "/");
	check("/w", "a\nb\xff", "/w/a\nb\xff");
	check("/w", "...", "/w/...");
}

TEST(within_and_below_stop_at_component_ends)
{
	CHECK(path_is_within("/a", "/a"));
	CHECK(path_is_within("/a", "/a/b"));
	CHECK(!path_is_within("/a", "/ab"));
	CHECK(path_is_within("/", "/x"));
	CHECK(!path_is_below("/a", "/a"));
	CHECK(path_is_below("/", "/a"));
	CHECK(!path_is_below("/", "/"));
}

TEST(path_parent_and_path_base_split_at_the_last_slash)
{
	auto_free char *up = path_parent("/a/b"), *top = path_parent("/a");

	CHECK_STR(up, "/a");
	CHECK_STR(top, "/");
	CHECK_STR(path_base("/a/b"), "b");
	CHECK_STR(path_base("/"), "");
	CHECK(path_has("/a/bc/d", "bc"));
	CHECK(path_has("/abc/bc", "bc"));
	CHECK(!path_has("/abc/bcd", "bc"));
	CHECK_INT(path_depth("/"), 0);
	CHECK_INT(path_depth("/a/b"), 2);
}

/* The first half of the digest of FIPS 180-4 */
TEST(an_id_is_half_a_sha256)
{
	auto_free char *empty = path_id(""), *abc = path_id("abc");

	CHECK_STR(empty, "e3b0c44298fc1c149afbf4c8996fb924");
	CHECK_STR(abc, "ba7816bf8f01cfea414140de5dae2223");
}
