/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-suggestion.c - suggested commands, and ignore rules */

#include "report/suggestion.h"

#include <stdint.h>

#include "base/own.h"
#include "policy/policy.h"
#include "report/violation.h"
#include "test.h"

static char *literal(const char *s)
{
	return (char *)(uintptr_t)s;
}

static void check(enum violation_kind kind, const char *target,
		  const char *grant, const char *edit, const char *command)
{
	struct violation v = { .kind = kind, .target = literal(target) };

	suggestion_fill(&v, grant);
	if (edit)
		CHECK_STR(v.suggest_edit, edit);
	else
		CHECK(!v.suggest_edit);
	if (command)
		CHECK_STR(v.suggest_command, command);
	else
		CHECK(!v.suggest_command);
	free(v.suggest_edit);
	free(v.suggest_command);
}

TEST(each_kind_has_its_suggestion)
{
	check(VIOLATION_FS_WRITE, "/etc/hosts", NULL,
	      "sandbox.filesystem.allowWrite += \"/etc/hosts\"",
	      "cloche policy allow write /etc/hosts");
	check(VIOLATION_FS_WRITE, "/srv/a b/new", "/srv/a b",
	      "sandbox.filesystem.allowWrite += \"/srv/a b\"",
	      "cloche policy allow write '/srv/a b'");
	check(VIOLATION_FS_READ, "/h/.ssh/id", NULL,
	      "sandbox.filesystem.allowRead += \"/h/.ssh/id\"",
	      "cloche policy allow read /h/.ssh/id");
	check(VIOLATION_FS_CREATE, "/p/.mcp.json", NULL, NULL, NULL);
	check(VIOLATION_NET_CONNECT, "a.example:443", NULL,
	      "sandbox.network.allowedDomains += \"a.example\"",
	      "cloche policy allow host a.example");
	check(VIOLATION_NET_CONNECT, "a.example:5432", NULL,
	      "sandbox.network.allowedDomains += \"a.example:5432\"",
	      "cloche policy allow host a.example:5432");
	check(VIOLATION_UNIX_SOCKET, "/run/x.sock", NULL,
	      "sandbox.network.allowUnixSockets += \"/run/x.sock\"",
	      "cloche policy allow socket /run/x.sock");
	check(VIOLATION_LIMIT, "time", NULL, NULL, NULL);
}

TEST(names_with_control_characters_get_no_suggestion)
{
	check(VIOLATION_FS_WRITE, "/a\nb", NULL, NULL, NULL);
	check(VIOLATION_FS_WRITE, "", NULL, NULL, NULL);
	check(VIOLATION_FS_WRITE, NULL, NULL, NULL, NULL);
}

TEST(names_with_pattern_characters_get_no_suggestion)
{
	check(VIOLATION_FS_WRITE, "/etc/*", NULL, NULL, NULL);
	check(VIOLATION_FS_READ, "/home/u/**", NULL, NULL, NULL);
	check(VIOLATION_FS_RENAME, "/a/[id].ts", NULL, NULL, NULL);
	check(VIOLATION_UNIX_SOCKET, "/run/?", NULL, NULL, NULL);
}

TEST(an_untypable_name_gets_its_directory_suggested)
{
	struct violation v = { .kind = VIOLATION_FS_WRITE,
			       .target = literal("/a/b/c/d\ne") };

	suggestion_fill(&v, "/a/b/c");
	CHECK_STR(v.suggest_command, "cloche policy allow write /a/b/c");
	free(v.suggest_edit);
	free(v.suggest_command);
}

TEST(a_suggestion_names_the_file_of_the_denying_rule)
{
	struct violation v = {
		.kind = VIOLATION_FS_WRITE, .target = literal("/p/x"),
		.rule_file = literal("/p/.claude/settings.json:4"),
		.rule_key = literal("sandbox.filesystem.denyWrite[0]"),
	};

	suggestion_fill(&v, NULL);
	CHECK_STR(v.suggest_edit, "remove sandbox.filesystem.denyWrite[0] "
		  "from /p/.claude/settings.json:4");
	CHECK(!v.suggest_command);
	free(v.suggest_edit);
}

static void check_for(const char *command, const struct rerun *how, const char *expect)
{
	auto_free char *got = suggestion_for(command, how);

	if (expect)
		CHECK_STR(got, expect);
	else
		CHECK(!got);
}

TEST(a_suggestion_carries_the_options_of_its_run)
{
	const struct rerun plain = { "", "make", NULL, false },
		there = { " --cwd '/a b'", "make", "/a b", false },
		home = { " --profile home", "sh -c 'make < x'", NULL, false },
		alone = { " --no-settings", "make", NULL, true },
		cut = { " --no-settings", NULL, NULL, true },
		several = { "", "sh -c 'a\nb'", NULL, false };
	const char *jail = "cloche run --net jail -- ",
		   *write = "cloche policy allow write /x",
		   *profile = "cloche run -- chromium --user-data-dir=/tmp/profile";

	check_for(write, &plain, write);
	check_for(write, &there, "cloche policy allow --cwd '/a b' write /x");
	check_for(write, &alone, "cloche run --no-settings --write /x -- make");
	check_for("cloche policy allow socket all", &alone, NULL);
	check_for("cloche policy allow unprotect hooks", &alone, NULL);
	check_for("cloche policy allow address 10.0.0.1", &alone,
		  "cloche run --no-settings --allow-ip 10.0.0.1 -- make");
	check_for(write, &cut, NULL);
	check_for(jail, &plain, "cloche run --net jail -- make");
	check_for(jail, &there, "cloche run --cwd '/a b' --net jail -- make");
	check_for(jail, &home, "cloche run --profile home --net jail -- sh -c 'make < x'");
	check_for(jail, &several, NULL);
	check_for(profile, &home,
		  "cloche run --profile home -- chromium --user-data-dir=/tmp/profile");
	check_for("cloche violations restore abc", &alone, "cloche violations restore abc");
}

TEST(an_ignore_rule_matches_command_and_text)
{
	struct list_rule rules[] = {
		{ .detail = literal("npm"), .text = literal("/etc/hosts") },
		{ .detail = literal("*"), .text = literal("file-read /x") },
	};
	const struct list_rules list = { .v = rules, .len = 2 };
	struct violation v = { .kind = VIOLATION_FS_WRITE,
			       .command = literal("npm test"),
			       .target = literal("/etc/hosts") };

	CHECK(ignore_find(&list, &v) == &rules[0]);
	v.command = literal("make");
	CHECK(!ignore_find(&list, &v));
	v.command = NULL;
	CHECK(!ignore_find(&list, &v));
	v.kind = VIOLATION_FS_READ;
	v.target = literal("/x");
	CHECK(ignore_find(&list, &v) == &rules[1]);
	CHECK(!ignore_find(NULL, &v));
}
