/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-text.c - numbers, units, quoting and escaping */

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

TEST(numbers_are_whole_strings_within_their_bound)
{
	uint64_t n = 7;

	CHECK_INT(text_to_u64("0", 10, &n), 0);
	CHECK_INT(n, 0);
	CHECK_INT(text_to_u64("65535", 65535, &n), 0);
	CHECK_INT(n, 65535);
	CHECK_INT(text_to_u64("65536", 65535, &n), -ERANGE);
	CHECK_INT(text_to_u64("5", 5, &n), 0);
	CHECK_INT(text_to_u64("6", 5, &n), -ERANGE);
	CHECK_INT(text_to_u64("18446744073709551615", UINT64_MAX, &n), 0);
	CHECK(n == UINT64_MAX);
	n = 7;
	CHECK_INT(text_to_u64("18446744073709551616", UINT64_MAX, &n), -ERANGE);
	CHECK_INT(text_to_u64("", 10, &n), -EINVAL);
	CHECK_INT(text_to_u64("-1", 10, &n), -EINVAL);
	CHECK_INT(text_to_u64(" 1", 10, &n), -EINVAL);
	CHECK_INT(text_to_u64("1x", 10, &n), -EINVAL);
	CHECK_INT(n, 7);
}

TEST(sizes_and_durations_have_units)
{
	uint64_t n;

	CHECK_INT(text_to_size("512", &n), 0);
	CHECK_INT(n, 512);
	CHECK_INT(text_to_size("2M", &n), 0);
	CHECK_INT(n, 2 << 20);
	CHECK_INT(text_to_size("1GiB", &n), 0);
	CHECK_INT(n, 1 << 30);
	CHECK_INT(text_to_size("9999999999T", &n), -ERANGE);
	CHECK_INT(text_to_size("1X", &n), -EINVAL);

	CHECK_INT(text_to_duration_ms("250ms", &n), 0);
	CHECK_INT(n, 250);
	CHECK_INT(text_to_duration_ms("1.5", &n), 0);
	CHECK_INT(n, 1500);
	CHECK_INT(text_to_duration_ms("2h", &n), 0);
	CHECK_INT(n, 7200000);
	CHECK_INT(text_to_duration_ms("0", &n), -EINVAL);
	CHECK_INT(text_to_duration_ms("1.", &n), -EINVAL);
	CHECK_INT(text_to_duration_ms("1w", &n), -EINVAL);
}

static void check_escaped(const char *s, const char *want)
{
	auto_buf struct buf b = { 0 };

	text_escape(&b, s);
	CHECK_STR(buf_str(&b), want);
}

TEST(control_characters_are_escaped)
{
	check_escaped("plain caf\xc3\xa9", "plain caf\xc3\xa9");
	check_escaped("a\nb\x1b[2J", "a\\x0ab\\x1b[2J");
	check_escaped("\x7f\xff\xc3", "\\x7f\\xff\\xc3");
	check_escaped("\xc2\x9b", "\\xc2\\x9b");			/* C1 CSI */
	check_escaped("\xe2\x80\xae", "\\xe2\\x80\\xae");	/* RLO */
	check_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");	/* Surrogate */
}

static void check_quoted(const char *s, const char *want)
{
	auto_buf struct buf b = { 0 };

	text_shell_quote(&b, s);
	CHECK_STR(buf_str(&b), want);
}

TEST(shell_arguments_survive_quoting)
{
	check_quoted("a/b-c", "a/b-c");
	check_quoted("", "''");
	check_quoted("it's", "'it'\"'\"'s'");
	check_quoted("'a\\", "\"'\"'a'\"\\\\\"");
	check_quoted("$(x)\n", "'$(x)\n'");
	check_quoted("~", "'~'");
}

TEST(text_has_word_matches_whole_words_only)
{
	CHECK(text_has_word("bin lib lib64", "lib"));
	CHECK(!text_has_word("bin lib lib64", "lib6"));
	CHECK(!text_has_word("bin lib lib64", "bin lib"));
	CHECK(!text_has_word("bin", ""));
	CHECK(text_is_choice("user|project", "project"));
	CHECK(!text_is_choice("user|project", "proj"));
	CHECK(!text_is_choice("user|project", "user|project"));
	CHECK(!text_is_choice("user", "") && !text_is_choice(NULL, "user"));
}

TEST(buf_printf_appends_text_of_any_length)
{
	auto_buf struct buf b = { 0 };
	char word[200];

	/* Longer than the format, shorter, and just as long as the room */
	for (int n = 0; n < (int)sizeof(word); n++) {
		snprintf(word, sizeof(word), "%0*d", n + 1, 7);
		b.len = 0;
		buf_addf(&b, "%s", word);
		CHECK_STR(buf_str(&b), word);
		CHECK_INT(b.len, strlen(word));
	}
	b.len = 0;
	buf_addu(&b, 0);
	buf_addc(&b, ' ');
	buf_addu(&b, 1090);
	buf_addc(&b, ' ');
	buf_addu(&b, UINT64_MAX);
	CHECK_STR(buf_str(&b), "0 1090 18446744073709551615");
}
