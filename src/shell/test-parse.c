/* SPDX-License-Identifier: Apache-2.0 */
/* shell/test-parse.c - the commands of a shell line, with bash as the oracle */

#include "shell/parse.h"

#include <time.h>

#include "base/own.h"
#include "test.h"

/* All commands, plain, "; " between them; "?" and why if not understood */
static const char *split(const char *text)
{
	static char out[1024];
	auto_shell struct shell_script s = { 0 };
	size_t used = 0;

	out[0] = '\0';
	shell_parse(text, &s);
	for (size_t i = 0; i < s.commands.len; i++)
		used += (size_t)snprintf(out + used, sizeof(out) - used,
			"%s%s", i ? "; " : "",
			shell_plain_from(&s, &s.commands.v[i], 0));
	if (s.why)
		snprintf(out + used, sizeof(out) - used, "?");
	return out;
}

static unsigned int features(const char *text)
{
	auto_shell struct shell_script s = { 0 };

	shell_parse(text, &s);
	return s.features;
}

TEST(operators_separate_commands)
{
	CHECK_STR(split("a b"), "a b");
	CHECK_STR(split("a&&b||c;d|e|&f&g\nh"), "a; b; c; d; e; f; g; h");
	CHECK_STR(split("  a   b\t c  "), "a b c");
	CHECK_STR(split("a &&\n\n b"), "a; b");
	CHECK_STR(split("a;"), "a");
	CHECK_STR(split("a &"), "a");
	CHECK_STR(split(""), "");
	CHECK_STR(split("\n \n"), "");
}

TEST(quotes_and_backslashes_are_removed)
{
	CHECK_STR(split("'a b' \"c;d\" e\\ f"), "a b c;d e f");
	CHECK_STR(split("a\"b\"'c'd"), "abcd");
	CHECK_STR(split("\"a\\\"b\\x\\\\\""), "a\"b\\x\\");
	CHECK_STR(split("r\\m"), "rm");
	CHECK_STR(split("a b\\\n c"), "a b c");
	CHECK_STR(split("a \\\n b"), "a b");
	CHECK_STR(split("a '' b"), "a  b");
	CHECK_STR(split("''"), "");
	CHECK_STR(split("'a\nb'"), "a\nb");
	CHECK_STR(split("\"\\\n\""), "");
}

TEST(comments_end_at_the_newline)
{
	CHECK_STR(split("a # b; c\nd"), "a; d");
	CHECK_STR(split("a#b"), "a#b");
	CHECK_STR(split("# only"), "");
	CHECK_STR(split("a;#x\nb"), "a; b");
	CHECK_STR(split("'#a' b"), "#a b");
}

TEST(commands_in_substitutions_are_listed)
{
	CHECK_STR(split("a $(b c)"), "b c; a $(b c)");
	CHECK_STR(split("a \"x$(b \"c)\")\""), "b c); a \"x$(b \"c)\")\"");
	CHECK_STR(split("a `b \\`c\\``"), "c; b `c`; a `b \\`c\\``");
	CHECK_STR(split("a <(b) >(c|d)"), "b; c; d; a <(b) >(c|d)");
	CHECK_STR(split("a ${x:-$(b)}"), "b; a ${x:-$(b)}");
	CHECK_STR(split("a '$(b)'"), "a $(b)");
	CHECK_STR(split("a \\$x"), "a $x");
	CHECK_INT(features("a $(b)"), SHELL_SUBSTITUTION);
	CHECK_INT(features("a `b`"), SHELL_SUBSTITUTION);
	CHECK_INT(features("a <(b)"), SHELL_SUBSTITUTION);
	CHECK_INT(features("a '$(b)'"), 0);
}

TEST(redirections_are_not_arguments)
{
	CHECK_STR(split("a >f b 2>&1 <g"), "a b");
	CHECK_STR(split("a b>c"), "a b");
	CHECK_STR(split(">f a"), "a");
	CHECK_INT(features("a 2>&1 >&2 <&-"), SHELL_REDIRECT_FD);
	CHECK_INT(features("a >/dev/null 2>'/dev/null'"), SHELL_REDIRECT_NULL);
	CHECK_INT(features("a > f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a > /dev/nullx"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a > /dev/sda"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a >> f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a >| f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a <> f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a &> f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a &>> f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a >& f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a >&1x"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a < f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a <<< f"), SHELL_REDIRECT_FILE);
	CHECK_INT(features("a >&$x"), SHELL_REDIRECT_FILE | SHELL_EXPANSION);
	CHECK_INT(features("a 2 '>' f"), 0);
	CHECK_STR(split("a >"), "a?");
	CHECK_STR(split("a > ; b"), "a?");
}

TEST(here_document_text_is_skipped_and_its_substitutions_are_listed)
{
	CHECK_STR(split("a <<E b\nrm\nE\nc"), "a b; c");
	CHECK_STR(split("a <<-E\n\trm $(x)\n\tE\nc"), "a; x; c");
	CHECK_STR(split("a <<'E'\nrm $(x)\nE\nc"), "a; c");
	CHECK_STR(split("a <<A <<B\n1\nA\n2\nB\nc"), "a; c");
	CHECK_STR(split("a $(b <<E\nx\nE\n)"), "b; a $(b <<E\nx\nE\n)");
	CHECK_STR(split("a <<E\nx"), "a?");
	CHECK_STR(split("a <<E"), "a?");
	CHECK_STR(split("a <<E\nx\\\nE\nrm"), "a?");
	CHECK_STR(split("a <<$E\nx"), "a?");
	CHECK_INT(features("a <<E\nE\n"), SHELL_HEREDOC);
}

TEST(commands_in_compounds_are_listed)
{
	CHECK_STR(split("(a;b)>f|c"), "a; b; c");
	CHECK_STR(split("{ a; b; } 2>&1; c"), "a; b; c");
	CHECK_STR(split("if a; then b; elif c; then d; else e; fi; f"),
		  "a; b; c; d; e; f");
	CHECK_STR(split("for x in 1 2; do rm $x; done"), "for x in 1 2; rm $x");
	CHECK_STR(split("while ! a; do b; done < f"), "a; b");
	CHECK_STR(split("[[ -f a && (b < c) ]] && rm x"), "rm x");
	CHECK_INT(features("(a)"), SHELL_COMPOUND);
	CHECK_INT(features("! a"), SHELL_COMPOUND);
	CHECK_INT(features("a if"), 0);
	CHECK_INT(features("'if' a"), 0);
}

TEST(words_that_a_shell_expands_are_marked)
{
	static const char *const bad[] = {
		"$x", "${x}", "*", "a?", "[ab]", "{a,b}", "~", "~/x", "=a",
		"$'a'", "$\"a\"", "\"$x\"", "$1", "$@", "a*", "`a`",
	};
	static const char *const good[] = {
		"a", "'*'", "\"*\"", "\\*", "'$x'", "[", "{}", "a=b", "x~", "]",
		"a,b", "\\~", "''", "-x", "\"~\"", "\xc3\xa9",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_shell struct shell_script s = { 0 };

		if (!shell_parse(bad[i], &s) || s.words.v[s.words.len - 1].known)
			test_fail(__FILE__, __LINE__, "%s", bad[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		auto_shell struct shell_script s = { 0 };

		if (!shell_parse(good[i], &s) || !s.words.v[0].known)
			test_fail(__FILE__, __LINE__, "%s", good[i]);
	}
}

TEST(leading_assignments_are_counted)
{
	auto_shell struct shell_script s = { 0 };

	CHECK(shell_parse("A=b C+='d e' f=$x g H=i; 1A=b; 'A'=b; A=1", &s));
	CHECK_INT(s.commands.len, 4);
	CHECK_INT(s.commands.v[0].assignments, 3);
	CHECK_INT(s.commands.v[0].count, 5);
	CHECK_STR(shell_plain_from(&s, &s.commands.v[0], 3), "g H=i");
	CHECK_INT(s.commands.v[1].assignments, 0);
	CHECK_INT(s.commands.v[2].assignments, 0);
	CHECK_INT(s.commands.v[3].assignments, 1);
	CHECK_STR(shell_raw_from(&s, &s.commands.v[3], 1), "");
}

TEST(syntax_errors_name_reason_and_column)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "a 'b", "column 3: a quote is not closed" },
		{ "a \"b", "column 3: a quote is not closed" },
		{ "a `b", "column 3: a backtick is not closed" },
		{ "a $(b", "column 5: ( is not closed" },
		{ "a)", "column 2: cannot be here" },
		{ ")", "nothing before" },
		{ "a b()", "column 4: cannot be here" },
		{ "a() { b; }", "column 2: " },
		{ "A=(b)", "column 3: " },
		{ "a &&", "nothing behind" },
		{ "&& a", "column 1: nothing before" },
		{ "a ; ; b", "column 5: nothing before" },
		{ "a;;b", "column 2: " },
		{ "a | | b", "nothing before" },
		{ "a $((1))", "column 3: arithmetic" },
		{ "((1))", "arithmetic" },
		{ "a $[1]", "arithmetic" },
		{ "a ${!x}", "${ }" },
		{ "a ${x@P}", "${ }" },
		{ "a ${x[1]}", "${ }" },
		{ "a ${x:1}", "${ }" },
		{ "a ${x:=1}", "${ }" },
		{ "a ${x=1}", "${ }" },
		{ "a \"${x-'}\"", "a quote inside" },
		{ "a $'\\''", "a backslash" },
		{ "a \\", "a backslash at the end" },
		{ "a\rb", "a control character" },
		{ "case a in b) c;; esac", "case" },
		{ "function a { b; }", "function" },
		{ "coproc a", "coproc" },
		{ "[[ a", "[[ is not closed" },
		{ "a >(", "( is not closed" },
		{ "a 2>(b)", "this kind of redirection" },
		{ "a @(b)", "column 4: " },
		{ "`'`", "in a text inside it: a quote" },
		{ "{ a; } b", "cannot be here" },
		{ "r\\\nm", "broken inside a word" },
		{ "a 2\\\n>f", "broken inside a word" },
		{ "a &! b", "cannot be here" },
		{ "a >! b", "this kind of redirection" },
		{ "{ a }", "column 6: a }" },
		{ "{ a\\ }", "column 6: a }" },
		{ "a $=x", "this kind of $" },
		{ "a $\\\n(b)", "this kind of $" },
		{ ">f if", "a keyword behind" },
		{ ">f", "without a command" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_shell struct shell_script s = { 0 };

		if (shell_parse(bad[i].text, &s))
			test_fail(__FILE__, __LINE__, "%s", bad[i].text);
		CHECK_CONTAINS(s.why, bad[i].why);
	}
}

TEST(commands_before_an_unparsed_part_are_listed)
{
	CHECK_STR(split("rm x; b $((1)); c"), "rm x; b ?");
	CHECK_STR(split("a $(rm y; case z)"), "rm y; case; a $(rm y; case z)?");
}

static char *repeat(const char *text, size_t bytes)
{
	struct buf b = { 0 };

	while (b.len + strlen(text) <= bytes)
		buf_adds(&b, text);
	return buf_take(&b);
}

TEST(length_and_depth_have_limits)
{
	auto_free char *longest = repeat("a", SHELL_TEXT_MAX);
	auto_free char *more = repeat("a", SHELL_TEXT_MAX + 1);
	auto_shell struct shell_script s = { 0 }, t = { 0 }, u = { 0 },
				      v = { 0 }, w = { 0 };
	struct buf deep = { 0 };

	CHECK(shell_parse(longest, &s));
	CHECK(!shell_parse(more, &t));
	CHECK_CONTAINS(t.why, "10000");

	for (int i = 0; i < SHELL_DEPTH_MAX - 1; i++)
		buf_adds(&deep, "$(");
	buf_adds(&deep, "a");
	for (int i = 0; i < SHELL_DEPTH_MAX - 1; i++)
		buf_adds(&deep, ")");
	CHECK(shell_parse(deep.p, &u));
	buf_done(&deep);

	for (int i = 0; i < SHELL_DEPTH_MAX; i++)
		buf_adds(&deep, "$(");
	buf_adds(&deep, "a");
	for (int i = 0; i < SHELL_DEPTH_MAX; i++)
		buf_adds(&deep, ")");
	CHECK(!shell_parse(deep.p, &v));
	CHECK_CONTAINS(v.why, "nested too deeply");
	buf_done(&deep);

	for (int i = 0; i < 2000; i++)
		buf_adds(&deep, "${a-");
	CHECK(!shell_parse(deep.p, &w));
	CHECK_CONTAINS(w.why, "nested too deeply");
	buf_done(&deep);
}

/* Processor time of the longest lines, with a bound far above what a linear
 * parser needs and far below what a square takes
 */
TEST(the_longest_lines_parse_in_linear_time)
{
	static const char *const parts[] = {
		"a;", "a ", "'a' ", "\"$a\" ", "$(a) ", "`a` ", "a\\\n", "<(a) ",
		"a|b&&", ">f ", "${a-b} ", "(a);", "a <<E\nE\n", "#\n", "{a,b}",
		"[[ a ]];", "if ", "<<E ", "`", "$(", "${a-", "\"", "'", "\\",
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		auto_free char *text = repeat(parts[i], SHELL_TEXT_MAX);
		const clock_t began = clock();

		for (int k = 0; k < 20; k++) {
			auto_shell struct shell_script s = { 0 };

			shell_parse(text, &s);
		}
		printf("# %6.3f ms: %.8s\n", (double)(clock() - began) * 1e3 /
		       CLOCKS_PER_SEC / 20, parts[i][1] == '\n' ? "#" :
		       strchr(parts[i], '\n') ? "(newline)" : parts[i]);
		CHECK(clock() - began < CLOCKS_PER_SEC);
	}
}
