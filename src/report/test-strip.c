/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-strip.c - removal of footer blocks from output */

#include "report/strip.h"

#include <time.h>

#include "test.h"
#include "report/footer.h"

/* Strip @text fed in pieces of @step bytes */
static void strip_by(const char *text, size_t step, struct buf *out)
{
	const size_t n = strlen(text);
	struct strip s = { 0 };

	for (size_t i = 0; i < n; i += step)
		strip_feed(&s, text + i, n - i < step ? n - i : step, out);
	strip_finish(&s, out);
}

static void check_strip(const char *text, const char *want)
{
	for (size_t step = 1; step <= strlen(text) + 1; step++) {
		auto_buf struct buf out = { 0 };

		strip_by(text, step, &out);
		CHECK_STR(buf_str(&out), want);
	}
}

#define BLOCK FOOTER_OPEN "\ndeny x\n" FOOTER_CLOSE "\n"

TEST(blocks_are_removed_with_their_newline)
{
	check_strip("", "");
	check_strip("a\n", "a\n");
	check_strip(BLOCK, "");
	check_strip("a\n" BLOCK "b\n", "a\nb\n");
	check_strip("no newline" BLOCK "b", "no newlineb");
	check_strip(BLOCK BLOCK "\n", "\n");
	check_strip("<<" BLOCK "<sandbox_", "<<<sandbox_");
	check_strip("<sandbox_violation>x", "<sandbox_violation>x");
	check_strip("a" FOOTER_OPEN "<</sandbox_" FOOTER_CLOSE "b", "ab");
}

TEST(blocks_with_CRLF_line_ends_are_removed)
{
	check_strip("a\r\n" FOOTER_OPEN "\r\nx\r\n" FOOTER_CLOSE "\r\nb\r\n",
		    "a\r\nb\r\n");
	check_strip(FOOTER_OPEN FOOTER_CLOSE "\r", "\r");
	check_strip(FOOTER_OPEN FOOTER_CLOSE "\rb", "\rb");
}

TEST(an_unclosed_block_is_kept)
{
	check_strip("a" FOOTER_OPEN "\nb", "a" FOOTER_OPEN "\nb");
	check_strip(FOOTER_CLOSE "\n", FOOTER_CLOSE "\n");
}

TEST(a_block_beyond_the_limit_is_kept)
{
	auto_buf struct buf text = { 0 }, out = { 0 };

	buf_adds(&text, FOOTER_OPEN);
	for (int i = 0; i < STRIP_BLOCK_MAX; i++)
		buf_addc(&text, 'x');
	strip_by(buf_str(&text), 4096, &out);
	CHECK(!strcmp(buf_str(&out), buf_str(&text)));

	out.len = 0;
	buf_adds(&text, BLOCK "y");
	strip_by(buf_str(&text), 4096, &out);
	CHECK_INT(out.len, text.len - strlen(BLOCK));
}

TEST(many_open_tags_take_linear_time)
{
	auto_buf struct buf text = { 0 }, out = { 0 };
	const clock_t start = clock();

	while (text.len < 8 << 20)
		buf_adds(&text, FOOTER_OPEN);
	strip_by(buf_str(&text), 16384, &out);
	CHECK_INT(out.len, text.len);
	CHECK((clock() - start) / CLOCKS_PER_SEC < 20);
}
