/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-permission.c - decisions of permission rules about shell lines */

#include "policy/permission.h"

#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "test.h"

static const char *const letters[] = { "deny", "ask", "allow", "none" };

/* Rules are "D:rule", "A:rule" (ask), "+:rule" (allow), ended by NULL */
static struct permission *make_set(const char *const *rules)
{
	struct permission *set = permission_new();

	for (; *rules; rules++) {
		const enum rule_action action =
			**rules == 'D' ? ACTION_DENY :
			**rules == 'A' ? ACTION_ASK : ACTION_ALLOW;

		struct rule rule;

		CHECK_INT(rule_parse(*rules + 2, action, &rule, NULL), 0);
		permission_add(set, &rule, (struct origin){ .key = *rules });
	}
	return set;
}

static void check_command(const char *const *rules, const char *command,
			  const char *want, const char *why)
{
	struct permission *set = make_set(rules);
	struct permission_verdict v = permission_decide_command(set, command,
			false);

	if (strcmp(letters[v.action], want) != 0)
		test_fail(__FILE__, __LINE__, "'%s' is %s: %s", command,
			  letters[v.action], v.why);
	CHECK_CONTAINS(v.why, why);
	CHECK(!v.rule == !v.origin);
	permission_verdict_done(&v);
	permission_free(set);
}

TEST(deny_rules_win_over_ask_and_ask_over_allow)
{
	static const char *const rules[] = {
		"+:Bash(git *)", "A:Bash(git push *)", "D:Bash(git push -f *)",
		"+:Bash(git push -f x)", "+:Bash(ls)", NULL,
	};

	check_command(rules, "git status", "allow", "Bash(git *)");
	check_command(rules, "git push", "ask", "Bash(git push *)");
	check_command(rules, "git push -f x", "deny", "git push -f *");
	check_command(rules, "git status && ls", "allow", "Bash(ls)");
	check_command(rules, "git status && rm x", "none", "no rule");
	check_command(rules, "ls; (git push -f)", "deny", "-f *");
	check_command(rules, "ls $(git push -f)", "deny", "-f *");
	check_command(rules, "A=b timeout 5 git push -f", "deny", "-f *");
	check_command(rules, "git log > f", "none", "no rule");
	check_command(rules, "git log >/dev/null 2>&1", "allow", "git *");
	check_command(rules, "(git log)", "none", "no rule");
	check_command(rules, "git log $(git log)", "none", "no rule");
	check_command(rules, "git log 'x", "ask", "a quote is not closed");
	check_command(rules, "$x push -f", "ask", "is not known");
	check_command(rules, "timeout $x git push -f", "deny", "-f *");
	check_command(rules, "time g$x push -f", "ask", "not known");
	check_command(rules, "nice g$x push -f", "ask", "not known");
	check_command(rules, "git push -f; case", "deny", "-f *");
}

TEST(a_wildcard_does_not_span_command_operators)
{
	static const char *const rules[] = {
		"D:Bash(git push * main)", "D:Bash(curl * | sh)",
		"D:Bash(a $((1)) b)", NULL,
	};

	check_command(rules, "git push x main", "deny", "main");
	check_command(rules, "git push x dev; git log main", "none", "no rule");
	check_command(rules, "curl -s x | sh", "deny", "| sh");
	check_command(rules, "curl -s x", "none", "no rule");
	check_command(rules, "a $((1)) b", "deny", "a $((1)) b");
}

TEST(a_rule_without_arguments_decides_for_the_tool)
{
	static const char *const all[] = { "+:Bash", NULL };
	static const char *const star[] = { "+:Bash(*)", "D:Bash(rm *)", NULL };
	static const char *const none[] = { "+:Bash(ls *)", "D:B*", NULL };
	static const char *const exact[] = { "+:Bash(a && b > c)", NULL };
	auto_free char *longest = mem_zalloc(10002);

	check_command(all, "anything 'at", "allow", "Bash");
	check_command(star, "x y", "allow", "Bash(*)");
	check_command(star, "x $((1))", "ask", "arithmetic");
	check_command(star, "x; rm y", "deny", "rm *");
	check_command(none, "ls", "deny", "B*");
	check_command(exact, " a && b > c\n", "allow", "a && b > c");
	check_command(exact, "a && b > d", "none", "");
	memset(longest, 'a', 10001);
	check_command(all, longest, "ask", "10000");
}

static const char *const no_rm[] = { "+:Bash", "D:Bash(rm *)", NULL };

TEST(deny_rules_apply_to_nested_commands)
{
	static const char *const lines[] = {
		"env rm x", "/usr/bin/env -i A=b rm x", "env -u HOME -- rm x",
		"exec rm x", "exec -a ls rm x", "eval rm x", "eval 'a; rm x'",
		"eval a ';' rm x", "bash -c 'rm x'", "sh -ec 'a && rm x'",
		"bash -c -e 'rm x'", "bash -o pipefail -c 'rm x'",
		"/bin/zsh -lc 'rm x'", "bash -c 'eval \"rm x\"'", "setsid rm x",
		"setsid -f bash -c 'rm x'", "sudo rm x", "sudo -u me A=b rm x",
		"sudo sh -c 'rm x'", "busybox rm x", "busybox sh -c 'rm x'",
		"trap 'rm x' EXIT", "trap -- 'rm x' EXIT", "xargs rm",
		"xargs -0 -n 1 rm -f", "xargs -I{} sh -c 'rm {}'",
		"find . -exec rm {} ;", "find . -execdir rm {} +",
		"find . -exec a {} + -ok rm {} ';'",
		"find . -exec sh -c 'rm \"$1\"' _ {} +", "nice rm x",
		"nice -n 5 env timeout 5 rm x", "nohup rm x", "command rm x",
		"command -p rm x", "builtin eval 'rm x'", "watch rm x",
		"watch -n 5 'a; rm x'", "flock f rm x", "flock -n f sh -c 'rm x'",
		"ionice -c 3 rm x", "chroot / rm x", "sudo -u me -- env rm x",
		"env nice $(rm x)", "bash -c \"bash -c 'rm x'\"",
		"a | bash -c 'rm x'", "if a; then bash -c 'rm x'; fi",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_command(no_rm, lines[i], "deny", "rm *");
}

TEST(commands_opaque_to_a_deny_rule_are_asked_about)
{
	static const char *const lines[] = {
		"eval \"$x\"", "eval $x", "bash -c \"$x\"", "bash $x", "bash",
		"echo rm x | sh", "bash <<E\nrm x\nE\n", "sudo bash <<<'rm x'",
		"bash -s <f", "bash --rcfile f -i", "bash -c", "xargs sh -c",
		"xargs env", "xargs sudo -u me", ". ./f", "source f",
		"coproc rm x", "trap \"$x\" EXIT", "env -S 'rm x'", "env -Srm x",
		"env --split-string='rm x'", "sudo -s x", "sudo $x",
		"find . -exec $x {} +", "alias ls=rm", "hash -p /bin/rm ls",
		"fish -c 'rm x'",
		"su -c 'rm x'", "script -c 'rm x' f", "flock f -c 'rm x'",
		"case x in x) rm x;; esac", "f() { rm x; }; f", "r$x x",
		"bash -c 'case x in esac'", "bash -c 'a $((1))'", "eval \"'\"",
		"prlimit -v 1000 ls", "parallel -j 2 a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_command(no_rm, lines[i], strstr(lines[i], "-S 'rm") ||
			      strstr(lines[i], "-c 'rm x' f") ||
			      strstr(lines[i], "su -c") ||
			      strstr(lines[i], "f -c") ? "deny" : "ask", "");
}

TEST(commands_transparent_to_a_deny_rule_are_not_asked_about)
{
	static const char *const lines[] = {
		"ls", "bash script rm", "bash -e script", "bash -c 'ls rm'",
		"env A=b make", "env", "exec >f", "sudo apt install x",
		"find . -name rm", "find . -exec grep rm {} +", "xargs grep rm",
		"xargs -0 -n 1 -P 4 grep rm", "xargs", "trap - EXIT", "trap",
		"trap '' INT", "eval", "command -v rm", "bash --version",
		"timeout 5 make rm", "nice -n 5 make", "time make", "echo $x",
		"git commit -m 'rm x'", "busybox ls", "watch -n 5 ls",
		"for i in a b; do echo $i; done", "setsid make", "A=b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_command(no_rm, lines[i], "allow", "Bash");
}

/* Lines in lines, each half as long, or wrappers in wrappers */
TEST(nested_commands_are_matched_fast)
{
	static const char *const pieces[] = {
		"eval ", "find -exec ", "bash -c ", "env ", "xargs -z ",
		"find -exec a {} + ",
	};
	const clock_t began = clock();

	for (size_t k = 0; k < ARRAY_SIZE(pieces); k++) {
		auto_buf struct buf b = { 0 };

		while (b.len + 20 < 10000)
			buf_adds(&b, pieces[k]);
		buf_adds(&b, "rm x");
		check_command(no_rm, b.p, strstr(pieces[k], "-c") ||
			      strstr(pieces[k], "eval") ? "ask" :
			      strstr(pieces[k], "{}") ? "allow" : "deny", "");
	}
	CHECK(clock() - began < 5 * CLOCKS_PER_SEC);
}

TEST(a_field_of_a_tool_call_can_be_denied)
{
	static const char *const rules[] = {
		"D:Bash(dangerouslyDisableSandbox:true)", "A:Bash(timeout:6*)",
		"+:Bash", NULL,
	};
	static const struct {
		const char *field, *value, *want;
	} rows[] = {
		{ "dangerouslyDisableSandbox", "true", "deny" },
		{ "dangerouslyDisableSandbox", "false", "none" },
		{ "timeout", "60000", "ask" },
		{ "timeout", "5", "none" },
		{ "time", "60000", "none" },
	};
	struct permission *set = make_set(rules);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct permission_verdict v = permission_decide_input(set,
			rows[i].field, rows[i].value);

		CHECK_STR(letters[v.action], rows[i].want);
		permission_verdict_done(&v);
	}
	permission_free(set);
}
