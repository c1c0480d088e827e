/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-rule.c - permission rules: grammar and paths */

#include "policy/test-rule-path.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "test.h"

static const struct rule_bases bases = { "/root", "/w", "/home/u" };

static void check_rule(const char *text, enum rule_action action,
		       enum rule_tool tool, enum rule_kind kind,
		       const char *content)
{
	struct err err = { 0 };
	struct rule r;

	if (rule_parse(text, action, &r, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s: %s", text, err.msg);
	if (r.tool != tool || r.kind != kind)
		test_fail(__FILE__, __LINE__, "%s: %d, %d", text, r.tool,
			  r.kind);
	CHECK_STR(r.text, text);
	if (content)
		CHECK_STR(r.content, content);
	rule_done(&r);
}

TEST(every_form_of_a_rule_is_parsed)
{
	check_rule("Bash", ACTION_ALLOW, TOOL_BASH, RULE_TOOL, NULL);
	check_rule("Bash(*)", ACTION_ALLOW, TOOL_BASH, RULE_TOOL, "*");
	check_rule(" Bash(npm test) ", ACTION_ALLOW, TOOL_BASH, RULE_COMMAND,
		   "npm test");
	check_rule("Bash(echo (a) b)", ACTION_ALLOW, TOOL_BASH, RULE_COMMAND,
		   "echo (a) b");
	check_rule("Bash(run_in_background:true)", ACTION_DENY, TOOL_BASH,
		   RULE_INPUT, NULL);
	check_rule("Bash(run_in_background:true)", ACTION_ALLOW, TOOL_BASH,
		   RULE_COMMAND, NULL);
	check_rule("Read(./a)", ACTION_DENY, TOOL_READ, RULE_PATH, "./a");
	check_rule("Edit", ACTION_DENY, TOOL_EDIT, RULE_TOOL, NULL);
	check_rule("WebFetch(domain:*.Example.COM.)", ACTION_ALLOW, TOOL_FETCH,
		   RULE_DOMAIN, "*.example.com");
	check_rule("WebFetch", ACTION_ALLOW, TOOL_FETCH, RULE_TOOL, NULL);
	check_rule("mcp__srv", ACTION_ALLOW, TOOL_MCP, RULE_TOOL, NULL);
	check_rule("mcp__srv__*", ACTION_ALLOW, TOOL_MCP, RULE_TOOL, NULL);
	check_rule("mcp__*", ACTION_DENY, TOOL_MCP, RULE_TOOL, NULL);
	check_rule("Agent(Explore)", ACTION_DENY, TOOL_OTHER, RULE_OPAQUE,
		   "Explore");
}

TEST(bad_rules_are_refused_with_a_column_and_a_message)
{
	static const struct {
		const char *text;
		enum rule_action action;
		const char *why;
	} bad[] = {
		{ "", ACTION_DENY, "column 1: a rule begins" },
		{ "(a)", ACTION_DENY, "column 1: a rule begins" },
		{ "  (a)", ACTION_DENY, "column 3: a rule begins" },
		{ "Bash(", ACTION_DENY, "column 5: ( is not closed" },
		{ "Bash(a", ACTION_DENY, "column 5: ( is not closed" },
		{ "Bash(a)b", ACTION_DENY, "column 8: nothing can stand" },
		{ "Bash()", ACTION_DENY, "column 6: nothing is between" },
		{ "Bash a", ACTION_DENY, "column 5: ' ' cannot be" },
		{ "Bash)", ACTION_DENY, "column 5: ')' cannot be" },
		{ "Bash( )", ACTION_DENY, "column 6: the command pattern" },
		{ "Bash(:*)", ACTION_ALLOW, "column 6: the command pattern" },
		{ "WebFetch(https://x)", ACTION_DENY, "column 10: WebFetch" },
		{ "WebFetch(domain:)", ACTION_DENY, "column 17: the host" },
		{ "WebFetch(domain:.)", ACTION_DENY, "column 17: the host" },
		{ "*", ACTION_ALLOW, "column 1: an allow rule" },
		{ "mcp__*", ACTION_ALLOW, "column 6: an allow rule" },
		{ "mcp____*", ACTION_ALLOW, "column 8: an allow rule" },
		{ "mcp__a(b)", ACTION_ALLOW, "column 7: an allow rule" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rule r = { .text = NULL };
		struct err err = { 0 };

		CHECK_INT(rule_parse(bad[i].text, bad[i].action, &r, &err),
			  -EINVAL);
		CHECK_CONTAINS(err.msg, bad[i].why);
		CHECK(!r.text);
	}
}

TEST(a_rule_has_a_length_limit)
{
	auto_free char *text = mem_zalloc(RULE_TEXT_MAX + 2);
	struct err err = { 0 };
	struct rule r;

	memset(text, 'A', RULE_TEXT_MAX);
	CHECK_INT(rule_parse(text, ACTION_DENY, &r, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "10000");	/* As a name's pattern */
	memcpy(text, "Read(", 5);
	text[RULE_TEXT_MAX - 1] = ')';
	CHECK_INT(rule_parse(text, ACTION_DENY, &r, &err), 0);
	rule_done(&r);
	text[RULE_TEXT_MAX] = ' ';
	CHECK_INT(rule_parse(text, ACTION_DENY, &r, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "12000");
}

TEST(path_rules_of_other_tools_are_reported_as_without_effect)
{
	static const char *const texts[] = {
		"Write(a)", "MultiEdit(a)", "NotebookEdit(a)", "Glob(a)",
		"Grep(a)", "LS(a)",
	};
	struct rule r;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CHECK_INT(rule_parse(texts[i], ACTION_DENY, &r, NULL), 0);
		CHECK_CONTAINS(r.inert, i < 3 ? "Edit(...)" : "Read(...)");
		rule_done(&r);
	}
	CHECK_INT(rule_parse("Write", ACTION_DENY, &r, NULL), 0);
	CHECK(!r.inert);
	CHECK_INT(r.tool, TOOL_EDIT);
	rule_done(&r);
}

/* "PATH" where a rule covers one path and all below it, "DIR+" for a pattern
 * with its directory, "?" and words where it is refused
 */
static const char *place(const char *content, enum rule_action action)
{
	static char out[1100];
	auto_free char *text = mem_printf("Edit(%s)", content);
	struct err err = { 0 };
	struct path_rule p = { 0 };
	struct rule r;

	CHECK_INT(rule_parse(text, action, &r, NULL), 0);
	if (rule_path_init(&p, &r, &bases, &err) < 0) {
		snprintf(out, sizeof(out), "?%s", err.msg);
	} else {
		snprintf(out, sizeof(out), "%s%s", p.path, p.glob ? "+" : "");
		path_rule_done(&p);
	}
	rule_done(&r);
	return out;
}

TEST(path_rules_start_at_their_base_directory)
{
	CHECK_STR(place("//a/b", ACTION_ALLOW), "/a/b");
	CHECK_STR(place("//", ACTION_ALLOW), "/");
	CHECK_STR(place("//**", ACTION_ALLOW), "/");
	CHECK_STR(place("///a", ACTION_ALLOW), "/a");
	CHECK_STR(place("/a", ACTION_DENY), "/root/a");
	CHECK_STR(place("/", ACTION_DENY), "/root");
	CHECK_STR(place("/a/**", ACTION_DENY), "/root/a");
	CHECK_STR(place("~/a", ACTION_DENY), "/home/u/a");
	CHECK_STR(place("~", ACTION_DENY), "/home/u");
	CHECK_STR(place("~/", ACTION_DENY), "/home/u");
	CHECK_STR(place("~/**", ACTION_DENY), "/home/u");
	CHECK_STR(place("a/b", ACTION_DENY), "/w/a/b");
	CHECK_STR(place("./a/b/", ACTION_ALLOW), "/w/a/b");
	CHECK_STR(place(".", ACTION_ALLOW), "/w");
	CHECK_STR(place("**", ACTION_ALLOW), "/w");
	CHECK_STR(place("*", ACTION_DENY), "/w");
	CHECK_STR(place("**/*", ACTION_DENY), "/w");
	CHECK_STR(place("a/*", ACTION_DENY), "/w/a");
	CHECK_STR(place("a/**/*", ACTION_DENY), "/w/a");
	CHECK_STR(place("a/**", ACTION_DENY), "/w+");
	CHECK_STR(place("a/**", ACTION_ALLOW), "/w/a");
	CHECK_STR(place("*/a/**", ACTION_ALLOW), "/w+");
	CHECK_STR(place("a/./b//c", ACTION_ALLOW), "/w/a/b/c");
	CHECK_STR(place("a/x/../b", ACTION_ALLOW), "/w/a/b");
	CHECK_STR(place("../a", ACTION_ALLOW), "/a");
	CHECK_STR(place("../../../a", ACTION_DENY), "/a");
	CHECK_STR(place("//a/**/b", ACTION_DENY), "/a+");
	CHECK_STR(place("/a*", ACTION_DENY), "/root+");
	CHECK_STR(place("/[a", ACTION_DENY), "?'/[a' can never match: a [ is "
		  "not closed, or a \\ is last");
	CHECK_STR(place("a/*/../b", ACTION_DENY),
		  "?'..' behind a pattern; write where it leads");
	CHECK_CONTAINS(place("~other/x", ACTION_DENY), "?'~other/x' names");
	CHECK_CONTAINS(place("!a", ACTION_DENY), "?'!a' is negated");
	CHECK_STR(place("/!a", ACTION_DENY), "/root/!a");
	CHECK_STR(place("/a\\*b", ACTION_DENY), "/root/a*b");
	CHECK_STR(place("/#a", ACTION_DENY), "/root/#a");
}

TEST(a_tilde_rule_without_a_home_is_refused)
{
	const struct rule_bases homeless = { "/root", "/w", NULL };
	struct path_rule p = { .path = NULL };
	struct err err = { 0 };
	struct rule r;

	CHECK_INT(rule_parse("Read(~/x)", ACTION_DENY, &r, NULL), 0);
	CHECK_INT(rule_path_init(&p, &r, &homeless, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "$HOME is not set");
	CHECK(!p.path);
	rule_done(&r);
}

static bool covers(const char *content, enum rule_action action,
		   const char *path)
{
	auto_free char *text = mem_printf("Read(%s)", content);
	struct path_rule p = { 0 };
	struct rule r;
	bool yes;

	CHECK_INT(rule_parse(text, action, &r, NULL), 0);
	CHECK_INT(rule_path_init(&p, &r, &bases, NULL), 0);
	yes = rule_path_match(&p, path);
	path_rule_done(&p);
	rule_done(&r);
	return yes;
}

TEST(a_name_alone_is_at_any_depth_below_the_start_directory)
{
	CHECK(covers(".env", ACTION_DENY, "/w/.env"));
	CHECK(covers(".env", ACTION_DENY, "/w/a/b/.env"));
	CHECK(covers(".env", ACTION_DENY, "/w/.env/x"));
	CHECK(!covers(".env", ACTION_DENY, "/v/.env"));
	CHECK(!covers(".env", ACTION_DENY, "/w/.envrc"));
	CHECK(covers("*.key", ACTION_ALLOW, "/w/a/b.key"));
	CHECK(covers("*", ACTION_DENY, "/w/a"));
	CHECK(!covers("*", ACTION_DENY, "/v/a"));
}

TEST(a_directory_rule_matches_at_any_depth_for_denials_only)
{
	/* A denial reaches further than an allowance of the same words */
	CHECK(covers("src/**", ACTION_DENY, "/w/a/src/x"));
	CHECK(covers("src/**", ACTION_ASK, "/w/a/src/x"));
	CHECK(!covers("src/**", ACTION_ALLOW, "/w/a/src/x"));
	CHECK(covers("src/**", ACTION_ALLOW, "/w/src/x"));
	CHECK(covers("src/**", ACTION_ALLOW, "/w/src"));
	CHECK(!covers("src/", ACTION_ALLOW, "/w/a/src/x"));
	CHECK(covers("src/", ACTION_DENY, "/w/a/src/x"));
	CHECK(covers("./.env", ACTION_DENY, "/w/.env"));
	CHECK(!covers("./.env", ACTION_DENY, "/w/a/.env"));
	CHECK(!covers("./src/**", ACTION_DENY, "/w/a/src/x"));
	CHECK(covers("./!x", ACTION_DENY, "/w/!x"));
	CHECK(!covers("/src/**", ACTION_DENY, "/root/a/src/x"));
	CHECK(!covers("a/src/**", ACTION_DENY, "/w/b/a/src/x"));
	CHECK(covers("**/src/**", ACTION_ALLOW, "/w/a/src/x"));
	CHECK(covers("a/*/c", ACTION_ALLOW, "/w/a/b/c/d"));
	CHECK(!covers("a/*/c", ACTION_ALLOW, "/w/a/b/x/c"));
	CHECK(covers("//**/.env", ACTION_DENY, "/x/y/.env"));
	CHECK(!covers("../x", ACTION_DENY, "/w/x"));
}

TEST(pattern_characters_in_base_directories_are_literal)
{
	const struct rule_bases odd = { "/r*", "/w[a]", "/home/?" };
	struct path_rule p = { 0 };
	struct rule r;

	CHECK_INT(rule_parse("Read(*.c)", ACTION_DENY, &r, NULL), 0);
	CHECK_INT(rule_path_init(&p, &r, &odd, NULL), 0);
	CHECK_STR(p.path, "/w[a]");
	CHECK(rule_path_match(&p, "/w[a]/x/y.c"));
	CHECK(!rule_path_match(&p, "/wa/y.c"));
	path_rule_done(&p);
	rule_done(&r);
}
