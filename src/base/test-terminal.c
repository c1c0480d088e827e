/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-terminal.c - lines wrapped between words */

#include "base/terminal.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

static void check_wrap(const char *text, int at, int columns, const char *want)
{
	auto_buf struct buf out = { 0 };

	terminal_wrap(&out, text, strlen(text), at, columns);
	CHECK_STR(buf_str(&out), want);
}

TEST(a_line_is_broken_between_words_behind_blanks)
{
	check_wrap("cloche: aaaa bbbb cccc dddd eeee", 8, 32,
		   "cloche: aaaa bbbb cccc dddd eeee");
	check_wrap("cloche: aaaa bbbb cccc dddd eeeee", 8, 32,
		   "cloche: aaaa bbbb cccc dddd\n        eeeee");
	check_wrap("cloche:   one two three four five six seven eight", 10, 34,
		   "cloche:   one two three four five\n          six seven eight");
	check_wrap("", 8, 40, "");
}

TEST(letters_are_counted_and_not_bytes)
{
	check_wrap("\xc3\xa4\xc3\xb6\xc3\xbc \xe2\x9c\x93\xe2\x9c\x93 aaaaaaaaaaaaaaaaa", 0, 24,
		   "\xc3\xa4\xc3\xb6\xc3\xbc \xe2\x9c\x93\xe2\x9c\x93 aaaaaaaaaaaaaaaaa");
}

TEST(a_word_that_fits_nowhere_stays_whole)
{
	check_wrap("cloche: write /a/very/long/path/that/is/longer/than/it (why)", 8, 32,
		   "cloche: write\n        /a/very/long/path/that/is/longer/than/it\n        (why)");
}

TEST(without_columns_or_space_nothing_is_broken)
{
	const char *line = "cloche: one two three four five six seven eight nine ten";

	check_wrap(line, 8, 0, line);
	check_wrap(line, 8, 31, line);
	check_wrap(line, 8, 32,
		   "cloche: one two three four five\n        six seven eight nine ten");
}

TEST(a_command_to_copy_stays_whole)
{
	check_wrap("cloche: it asks for 2 hosts; review: cloche trust -s some/file.json", 8, 44,
		   "cloche: it asks for 2 hosts; review:\n        cloche trust -s some/file.json");
	check_wrap("cloche: no staged changes here; 'cloche run --ephemeral' stages some", 8, 44,
		   "cloche: no staged changes here;\n        'cloche run --ephemeral' stages some");
	check_wrap("cloche: usage: cloche diff OLD NEW and more; for example: cloche diff a b", 8, 40,
		   "cloche: usage: cloche diff OLD NEW and\n        more; for example:\n        cloche diff a b");
	/* Prose is broken as always */
	check_wrap("cloche: this runs in a cloche sandbox of tier landlock", 8, 36,
		   "cloche: this runs in a cloche\n        sandbox of tier landlock");
	check_wrap("cloche: note 'cloche ends with no quote and goes on", 8, 32,
		   "cloche: note\n        'cloche ends with no quote and goes on");
}

TEST(a_pipe_has_no_columns_and_no_style)
{
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	CHECK_INT(terminal_columns(fds[1]), 0);
	CHECK_INT(terminal_columns(-1), 0);
	close(fds[0]);
	close(fds[1]);
}
