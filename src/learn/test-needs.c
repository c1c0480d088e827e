/* SPDX-License-Identifier: Apache-2.0 */
/* learn/test-needs.c - the rules that refusals become */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "learn/needs.h"
#include "policy/policy.h"
#include "report/violation.h"
#include "test.h"

static struct policy *make_policy(void)
{
	struct policy *p = policy_new("/home/ann/project", "/home/ann");
	static const struct origin origin = { .reason = "keys" };

	policy_add_literal(p, PATH_DENY_READ, "/home/ann/.ssh", RULE_ALWAYS, origin);
	return p;
}

static void add(struct needs *needs, enum violation_kind kind, const char *edit,
		const char *rule_file)
{
	struct violation v = {
		.op = mem_strdup("mkdirat"),
		.kind = kind, .target = mem_strdup("target"), .count = 1,
		.reason = mem_strdup("reason"),
		.suggest_edit = edit ? mem_printf("sandbox.%s", edit) : NULL,
		.rule_file = rule_file ? mem_strdup(rule_file) : NULL,
	};

	needs_add(needs, &v);
	violation_done(&v);
}

/* The lines that are left, with blanks between them */
static const char *lines(const struct needs *needs)
{
	static struct buf text;

	buf_done(&text);
	for (size_t i = 0; i < needs->lines.len; i++) {
		const struct need *line = &needs->lines.v[i];

		if (!line->dropped)
			buf_addf(&text, "%s%s %s", text.len ? ", " : "",
				 need_rows[line->kind].name, line->value);
	}
	return buf_str(&text);
}

TEST(a_suggestion_becomes_a_rule)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };

	add(&needs, VIOLATION_NET_CONNECT, "network.allowedDomains += \"a.example.org\"", NULL);
	add(&needs, VIOLATION_NET_DNS, "network.allowedDomains += \"a.example.org\"", NULL);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/a \\\"b\"", NULL);
	add(&needs, VIOLATION_FS_READ, "filesystem.allowRead += \"/home/ann/x\"", "f:1");
	CHECK_STR(lines(&needs), "host a.example.org, write /srv/a \"b, read /home/ann/x");
	CHECK(needs_end_round(&needs));
	needs.round++;
	CHECK(!needs_end_round(&needs));
	CHECK(needs.refused.len == 0);
	needs_done(&needs);
}

TEST(services_of_the_host_are_not_tried)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };
	char name[] = "/tmp/test-needs.XXXXXX";
	auto_free char *edit = NULL;
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	edit = mem_printf("network.allowUnixSockets += \"%s\"", name);
	add(&needs, VIOLATION_NET_CONNECT, "network.hostPorts += 5432", NULL);
	add(&needs, VIOLATION_UNIX_SOCKET, edit, NULL);
	CHECK_STR(lines(&needs), "");
	/* Root's are never proposed */
	CHECK_INT(needs.untried.len + needs.refused.len, 2);
	CHECK_INT(needs.untried.len, getuid() ? 2 : 1);
	needs_done(&needs);
	(void)close(fd);
	(void)unlink(name);
}

TEST(secrets_and_protected_names_are_never_proposed)
{
	static const struct {
		enum violation_kind kind;
		const char *edit;
	} never[] = {
		{ VIOLATION_FS_READ, "filesystem.allowRead += \"/home/ann/.netrc\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/.ssh\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/.ssh/authorized_keys\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/.bashrc\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/a/.git/hooks\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/bob/x\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"relative\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/opt/tools/bin\"" },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/opt/tools/bin/x\"" },
		{ VIOLATION_FS_WRITE, "filesystem.unprotect += \"hooks\"" },
		{ VIOLATION_NET_CONNECT, "network.allowedDomains += \"169.254.169.254\"" },
		{ VIOLATION_NET_CONNECT, "network.allowedDomains += \"169.254.169.254:8080\"" },
		{ VIOLATION_NET_CONNECT, "network.allowedDomains += \"[fd00:ec2::254]:80\"" },
		{ VIOLATION_NET_DNS, "network.allowedDomains += \"metadata.google.internal\"" },
		{ VIOLATION_UNIX_SOCKET, "network.allowUnixSockets += \"/nowhere/docker.sock\"" },
		{ VIOLATION_SYSCALL, NULL },
		{ VIOLATION_FS_WRITE, "filesystem.allowWrite += broken" },
		{ VIOLATION_FS_WRITE, "remove x from y" },
	};
	auto_policy struct policy *policy = make_policy();

	CHECK(setenv("PATH", "/opt/tools/bin:/usr/bin", 1) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		struct needs needs = { .policy = policy, .round = 1 };

		add(&needs, never[i].kind, never[i].edit, NULL);
		CHECK_STR(lines(&needs), "");
		CHECK(needs.refused.len == 1);
		CHECK(!needs_end_round(&needs));
		needs_done(&needs);
	}
}

TEST(paths_in_another_users_home_are_never_proposed)
{
	auto_policy struct policy *policy = policy_new("/root/project", "/root");
	struct needs needs = { .policy = policy, .round = 1 };

	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/bob\"", NULL);
	CHECK_STR(lines(&needs), "");
	CHECK(needs.refused.len == 1);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/x\"", NULL);
	CHECK_STR(lines(&needs), "write /srv/x");
	needs_done(&needs);
}

TEST(a_directory_that_contains_secrets_is_never_proposed)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };
	static const struct origin origin = { .reason = "tokens" };

	policy_add_literal(policy, PATH_DENY_READ, "/home/ann/.config/x/token",
			   RULE_ALWAYS, origin);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/.config\"", NULL);
	CHECK_STR(lines(&needs), "");
	CHECK(needs.refused.len == 1);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/.config/y\"", NULL);
	CHECK_STR(lines(&needs), "write /home/ann/.config/y");
	needs_done(&needs);
}

TEST(a_new_file_is_proposed_as_its_directory)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };
	static const char *const files[] = { "/srv/d/new", "/home/ann/new" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct violation v = {
			.kind = VIOLATION_FS_WRITE, .op = mem_strdup("openat"),
			.target = mem_strdup(files[i]), .count = 1,
			.suggest_edit = mem_printf("sandbox.filesystem.allowWrite += \"%s\"",
						   files[i]),
		};

		needs_add(&needs, &v);
		violation_done(&v);
	}
	CHECK_STR(lines(&needs), "write /srv/d");
	/* That of the other is the whole home */
	CHECK(needs.refused.len == 0 && needs.untried.len == 1);
	needs_done(&needs);
}

TEST(names_that_differ_between_runs_are_proposed_as_their_directory)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };

	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/d/a1\"", NULL);
	add(&needs, VIOLATION_NET_CONNECT, "network.allowedDomains += \"a.example.org:4001\"", NULL);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/r1\"", NULL);
	CHECK(needs_end_round(&needs));
	needs.round++;
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/d/a2\"", NULL);
	add(&needs, VIOLATION_NET_CONNECT, "network.allowedDomains += \"a.example.org:4002\"", NULL);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/home/ann/r2\"", NULL);
	CHECK(needs_end_round(&needs));
	/* The directory of the last two is the home, which is never allowed */
	CHECK_STR(lines(&needs), "write /home/ann/r1, write /srv/d, write /home/ann/r2");
	needs.round++;
	CHECK(!needs_end_round(&needs));
	needs_done(&needs);
}

TEST(names_that_repeat_in_each_run_are_proposed_one_by_one)
{
	static const struct {
		const char *first, *second, *lines;
	} pairs[] = {
		{ "out", "other", "write /srv/d/out, write /srv/d/other" },
		{ "lib", "bin", "write /srv/d/lib, write /srv/d/bin" },
		{ "data", "logs", "write /srv/d/data, write /srv/d/logs" },
		{ "cache-1", "cache-27", "write /srv/d" },
		{ "tmp.aB3xQ9.json", "tmp.Zz81kL.json", "write /srv/d" },
		{ "x", "x1", "write /srv/d/x, write /srv/d/x1" },
	};
	auto_policy struct policy *policy = make_policy();

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct needs needs = { .policy = policy };

		for (int n = 0; n < 2; n++) {
			auto_free char *edit = mem_printf("filesystem.allowWrite += \"/srv/d/%s\"",
				n ? pairs[i].second : pairs[i].first);

			needs.round++;
			add(&needs, VIOLATION_FS_WRITE, edit, NULL);
			CHECK(needs_end_round(&needs));
		}
		CHECK_STR(lines(&needs), pairs[i].lines);
		needs_done(&needs);
	}
}

TEST(three_files_of_a_directory_are_proposed_as_the_directory)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };

	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/d/a\"", NULL);
	add(&needs, VIOLATION_FS_WRITE, "filesystem.allowWrite += \"/srv/d/b\"", NULL);
	CHECK(needs_end_round(&needs));
	CHECK_STR(lines(&needs), "write /srv/d/a, write /srv/d/b");
	needs_done(&needs);
	needs = (struct needs){ .policy = policy, .round = 1 };
	for (int i = 0; i < NEEDS_FILES_MANY; i++) {
		auto_free char *edit = mem_printf("filesystem.allowWrite += \"/srv/d/%d\"", i);

		add(&needs, VIOLATION_FS_WRITE, edit, NULL);
	}
	CHECK(needs_end_round(&needs));
	CHECK_STR(lines(&needs), "write /srv/d");
	needs_done(&needs);
}

TEST(proposed_rules_are_limited)
{
	auto_policy struct policy *policy = make_policy();
	struct needs needs = { .policy = policy, .round = 1 };

	for (int i = 0; i < NEEDS_MAX + 3; i++) {
		auto_free char *edit = mem_printf("network.allowedDomains += \"h%d.example.org\"", i);

		add(&needs, VIOLATION_NET_CONNECT, edit, NULL);
	}
	CHECK(needs.lines.len == NEEDS_MAX);
	CHECK(needs.unsaid == 3);
	needs_done(&needs);
}
