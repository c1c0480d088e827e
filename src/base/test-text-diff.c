/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-text-diff.c - hunks, their numbers and their context */

#include "base/text-diff.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

static const char *hunks(const char *old, const char *new)
{
	static struct buf out;

	out.len = 0;
	text_diff(old, strlen(old), new, strlen(new), &out);
	return buf_str(&out);
}

TEST(equal_texts_have_no_hunk)
{
	CHECK_STR(hunks("", ""), "");
	CHECK_STR(hunks("a\nb\n", "a\nb\n"), "");
}

TEST(a_new_or_removed_file_is_one_hunk)
{
	CHECK_STR(hunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
	CHECK_STR(hunks("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
}

TEST(a_hunk_has_three_lines_of_context)
{
	CHECK_STR(hunks("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
		  "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST(changes_share_a_hunk_up_to_six_lines_apart)
{
	CHECK_STR(hunks("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
		  "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
	CHECK_STR(hunks("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
		  "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
		  "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

TEST(a_common_line_between_changes_is_context)
{
	CHECK_STR(hunks("a\nb\nc\n", "b\nc\nd\n"), "@@ -1,3 +1,3 @@\n-a\n b\n c\n+d\n");
}

TEST(a_last_line_without_a_newline_is_marked)
{
	CHECK_STR(hunks("a", "a\n"),
		  "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

/* @n lines, of which no two are equal but the one in the middle */
static void fill(struct buf *b, size_t n, char mark)
{
	for (size_t i = 0; i < n; i++) {
		if (i == n / 2)
			buf_adds(b, "same\n");
		else
			buf_addf(b, "%c%zu\n", mark, i);
	}
}

static bool finds_common(size_t n, size_t m)
{
	static struct buf a, b, out;

	a.len = b.len = out.len = 0;
	fill(&a, n, 'a');
	fill(&b, m, 'b');
	text_diff(a.p, a.len, b.p, b.len, &out);
	return strstr(buf_str(&out), "\n same\n");
}

TEST(texts_beyond_the_limit_are_one_replacement)
{
	CHECK(finds_common(2048, TEXT_DIFF_PAIRS_MAX / 2048));
	CHECK(!finds_common(2048, TEXT_DIFF_PAIRS_MAX / 2048 + 1));
}
