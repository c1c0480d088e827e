/* SPDX-License-Identifier: Apache-2.0 */
/* shell/test-command-pattern.c - patterns of Bash rules, and excluded commands */

#include "shell/command-pattern.h"

#include <errno.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "shell/parse.h"
#include "test.h"

static bool matches(const char *pattern, const char *text)
{
	struct command_pattern p;
	bool r;

	CHECK_INT(command_pattern_init(&p, pattern, NULL), 0);
	r = command_pattern_match(&p, text);
	command_pattern_done(&p);
	return r;
}

TEST(a_pattern_without_a_star_matches_the_whole_command)
{
	CHECK(matches("npm test", "npm test"));
	CHECK(!matches("npm test", "npm test -v"));
	CHECK(!matches("npm test", "npm tes"));
	CHECK(!matches("docker", "docker ps"));
	CHECK(matches("  npm test ", "npm test"));
}

TEST(a_final_star_after_a_blank_matches_at_a_word_boundary)
{
	CHECK(matches("ls *", "ls"));
	CHECK(matches("ls *", "ls -l"));
	CHECK(!matches("ls *", "lsof"));
	CHECK(matches("ls:*", "ls"));
	CHECK(matches("ls:*", "ls -l"));
	CHECK(!matches("ls:*", "lsof"));
	CHECK(matches("ls*", "lsof"));
	CHECK(matches("npm run test:*", "npm run test --x"));
	CHECK(!matches("npm run test:*", "npm run test:unit"));
	CHECK(!matches("a:*b", "a"));
	CHECK(matches("a:*b", "a:xxb"));
}

TEST(a_star_anywhere_matches_any_text)
{
	CHECK(matches("*", "a b c"));
	CHECK(matches("* --version", "node --version"));
	CHECK(!matches("* --version", "--version"));
	CHECK(matches("git * main", "git push origin main"));
	CHECK(!matches("git * main", "git main"));
	CHECK(matches("a*b*c", "abbc"));
	CHECK(matches("a**c", "abc"));
	CHECK(!matches("ab*bc", "abc"));
	CHECK(matches("*aab", "aaaab"));
	CHECK(matches("git * main *", "git push main --force"));
	CHECK(matches("git * main *", "git push main"));
}

/* The oracle: backtracking, exponential */
static bool naive(const char *p, const char *s)
{
	if (*p == '*')
		return naive(p + 1, s) || (*s && naive(p, s + 1));
	return *p == *s && (!*p || naive(p + 1, s + 1));
}

TEST(random_patterns_match_as_the_naive_matcher_says)
{
	uint32_t state = 31;
	unsigned int hits = 0;

	for (int i = 0; i < 200000; i++) {
		char p[8] = "x", s[10] = "x";

		for (size_t k = 1; k < 7; k++) {
			state = state * 1664525 + 1013904223;
			p[k] = "aab**\0"[state >> 24 & 7 ? state >> 20 & 3
							 : 5];
		}
		for (size_t k = 1; k < 9; k++) {
			state = state * 1664525 + 1013904223;
			s[k] = "aab\0"[state >> 24 & 7 ? state >> 22 & 1 ? 0 : 2
						       : 3];
		}
		hits += naive(p, s);
		CHECK_INT(matches(p, s), naive(p, s));
	}
	CHECK(hits > 1000);
}

TEST(an_empty_or_endless_pattern_is_refused_with_a_message)
{
	auto_free char *text = mem_zalloc(COMMAND_PATTERN_MAX + 2);
	struct command_pattern p = { .plain = 42 };
	struct err err = { 0 };

	CHECK_INT(command_pattern_init(&p, "", &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "empty");
	CHECK_INT(command_pattern_init(&p, " ", NULL), -EINVAL);
	CHECK_INT(command_pattern_init(&p, ":*", NULL), -EINVAL);
	memset(text, 'a', COMMAND_PATTERN_MAX + 1);
	CHECK_INT(command_pattern_init(&p, text, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "10000");
	CHECK_INT(p.plain, 42);
	text[COMMAND_PATTERN_MAX] = '\0';
	CHECK_INT(command_pattern_init(&p, text, &err), 0);
	command_pattern_done(&p);
}

/* @may: as deny and ask rules see it; otherwise as allow rules do */
static bool covers(bool may, const char *pattern, const char *text)
{
	auto_shell struct shell_script s = { 0 };
	struct command_pattern p;
	bool r;

	CHECK(shell_parse(text, &s));
	CHECK_INT(s.commands.len, 1);
	CHECK_INT(command_pattern_init(&p, pattern, NULL), 0);
	r = may ? command_may_match(&p, &s, s.commands.v)
		: command_must_match(&p, &s, s.commands.v);
	command_pattern_done(&p);
	return r;
}

TEST(allow_and_deny_rules_look_through_wrappers)
{
	static const char *const wrapped[] = {
		"timeout 5 npm test", "timeout -k 5 --signal=KILL 5s npm test",
		"timeout -s KILL --preserve-status 5 npm test",
		"timeout --kill-after 3 5 npm test", "timeout -- 5 npm test",
		"time npm test", "'time' -p npm test", "nice npm test",
		"nice -n 5 npm test", "nice -n5 npm test", "nice -5 npm test",
		"nice --adjustment=5 npm test", "nohup npm test",
		"stdbuf -oL -e 0 npm test", "stdbuf --output=L npm test",
		"command npm test", "builtin npm test", "noglob npm test",
		"nice timeout 5 nohup npm test",
		"NODE_ENV=test timeout 5 npm test", "'timeout' 5 npm test",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrapped); i++) {
		if (!covers(false, "npm test", wrapped[i]) ||
		    !covers(true, "npm test", wrapped[i]))
			test_fail(__FILE__, __LINE__, "%s", wrapped[i]);
	}
}

TEST(wrappers_with_side_effects_are_not_looked_through)
{
	static const char *const other[] = {
		"timeout npm test", "timeout --unknown 5 npm test",
		"timeout $x npm test", "time -o f npm test", "time",
		"command -v npm test", "xargs -I x npm test", "npx npm test",
		"nice -n npm test", "docker exec x npm test", "env npm test",
		"sudo npm test", "nice --5 npm test",
		"nice $(x) npm test", "timeout -k $x 5 npm test",
	};

	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		auto_shell struct shell_script s = { 0 };
		struct command_pattern p;

		shell_parse(other[i], &s);
		CHECK_INT(command_pattern_init(&p, "npm test", NULL), 0);
		if (command_must_match(&p, &s,
				       &s.commands.v[s.commands.len - 1]))
			test_fail(__FILE__, __LINE__, "%s", other[i]);
		command_pattern_done(&p);
	}
}

TEST(allow_skips_harmless_assignments_and_deny_skips_all)
{
	CHECK(covers(false, "npm test", "NODE_ENV=x CI=1 npm test"));
	CHECK(!covers(false, "npm test", "LD_PRELOAD=x npm test"));
	CHECK(!covers(false, "npm test", "CI=1 PATH=x npm test"));
	CHECK(!covers(false, "npm *", "PATH=x npm test"));
	CHECK(!covers(false, "npm test", "CI+=1 npm test"));
	CHECK(covers(true, "npm test", "PATH=x npm test"));
	CHECK(covers(false, "A=b npm *", "A=b npm test"));
	CHECK(!covers(false, "A=b *", "A=b npm test"));
	CHECK(!covers(false, "* test", "A=b npm test"));
	CHECK(!covers(false, "*", "A=b"));
}

TEST(deny_matches_every_quoting_of_a_command)
{
	CHECK(covers(true, "rm *", "r\\m -rf x"));
	CHECK(covers(true, "rm *", "'rm' -rf x"));
	CHECK(covers(true, "rm *", "timeout 5 r\"m\" x"));
	CHECK(covers(true, "git push *", "git   push  x"));
	CHECK(covers(true, "timeout *", "timeout 5 a"));
	CHECK(covers(true, "A=1 rm *", "A=1 rm x"));
	CHECK(!covers(true, "rm *", "echo rm x"));
	CHECK(!covers(false, "rm *", "'rm' x"));
}

TEST(deny_matches_a_program_given_by_path)
{
	CHECK(covers(true, "rm *", "/bin/rm x"));
	CHECK(covers(true, "rm *", "A=1 timeout 5 './rm' x"));
	CHECK(covers(true, "/bin/rm *", "/bin/rm x"));
	CHECK(!covers(true, "rm *", "/bin/rmdir x"));
	CHECK(!covers(true, "rm *", "ls /bin/rm x"));
	CHECK(!covers(true, "rm *", "A=/bin/rm x"));
	CHECK(!covers(false, "rm *", "/bin/rm x"));
}

TEST(deny_looks_past_unknown_options_of_wrappers)
{
	CHECK(covers(true, "rm *", "xargs -n 1 rm -f"));
	CHECK(covers(true, "rm *", "nice xargs -0 -I x /bin/rm x"));
	CHECK(covers(true, "rm *", "timeout --sig=KILL 5 rm x"));
	CHECK(covers(true, "rm *", "command -p rm x"));
	CHECK(covers(true, "*rm -f", "xargs -n 1 rm -f"));
	CHECK(!covers(true, "rm *", "command -v rm"));
	CHECK(!covers(true, "rm *", "xargs -0 grep x"));
	CHECK(!covers(true, "rm *", "xargs grep rm x"));
	CHECK(!covers(false, "rm *", "xargs -n 1 rm -f"));
}

TEST(too_many_wrappers_match_deny_only)
{
	auto_buf struct buf b = { 0 };

	for (int i = 0; i < 16; i++)
		buf_adds(&b, "nice ");
	buf_adds(&b, "rm x");
	CHECK(covers(false, "rm *", b.p));
	CHECK(covers(true, "rm *", b.p));
	buf_done(&b);
	for (int i = 0; i < 17; i++)
		buf_adds(&b, "nice ");
	buf_adds(&b, "a");
	CHECK(!covers(false, "a", b.p));
	CHECK(covers(true, "rm *", b.p));
}

TEST(a_wildcard_does_not_match_an_expanded_program_name)
{
	CHECK(!covers(false, "* --version", "$x --version"));
	CHECK(!covers(false, "*", "{rm,-rf,x}"));
	CHECK(covers(false, "$x --version", "$x --version"));
	CHECK(covers(false, "~/bin/x *", "~/bin/x y"));
	CHECK(!covers(false, "~/bin/*", "~/bin/x y"));
	CHECK(covers(false, "ls *", "ls $x"));
}

TEST(commands_that_run_others_need_an_exact_rule)
{
	CHECK(!covers(false, "watch *", "watch ls"));
	CHECK(covers(false, "watch ls", "watch ls"));
	CHECK(!covers(false, "flock *", "/usr/bin/flock x ls"));
	CHECK(!covers(false, "timeout *", "timeout 5 setsid a"));
	CHECK(covers(false, "find *", "find . -name x"));
	CHECK(!covers(false, "find *", "find . -delete"));
	CHECK(!covers(false, "find *", "find . '-exec' rm {} +"));
	CHECK(!covers(false, "find *", "find . {-exec,rm,x,+}"));
	CHECK(!covers(false, "find *", "find . $_ rm x +"));
	CHECK(!covers(false, "find *", "xargs find"));
	CHECK(covers(false, "find . -name $x", "find . -name $x"));
	CHECK(covers(true, "watch *", "watch ls"));
}

TEST(a_number_of_nice_is_an_option_and_not_a_program)
{
	CHECK(covers(false, "docker *", "nice -5 docker ps"));
	CHECK(!covers(false, "docker *", "nice m4 docker ps"));
	CHECK(!covers(false, "docker *", "nice 75 docker ps"));
	CHECK(!covers(true, "docker *", "nice m4 docker ps"));
}

TEST(arguments_from_xargs_need_a_wildcard_in_the_rule)
{
	CHECK(covers(false, "npm test", "npm test"));
	CHECK(!covers(false, "npm test", "xargs npm test"));
	CHECK(!covers(false, "npm test", "xargs nice npm test"));
	CHECK(covers(false, "xargs npm test", "xargs npm test"));
	CHECK(covers(false, "npm test *", "xargs npm test"));
	CHECK(covers(false, "npm te*", "xargs npm test"));
	CHECK(covers(true, "npm test", "xargs npm test"));
}

TEST(a_variable_that_names_a_file_is_not_harmless)
{
	CHECK(covers(false, "ls *", "TZ=Europe/Berlin LANG='C' ls x"));
	CHECK(!covers(false, "ls *", "TZ=/tmp/x ls x"));
	CHECK(!covers(false, "ls *", "TZ=:/tmp/x ls x"));
	CHECK(!covers(false, "ls *", "LANGUAGE=../../../tmp/x ls x"));
	CHECK(!covers(false, "ls *", "LANGUAGE='de:/tmp/x' ls x"));
	CHECK(!covers(false, "ls *", "TERM=$_ ls x"));
	CHECK(covers(true, "ls *", "TZ=/tmp/x ls x"));
}

static const char *const patterns[] = { "docker *", "git *", "bazel build //x",
					"xargs *", "find *", "" };

static char *why_not(const char *text)
{
	char *why = NULL;

	if (excluded_match(text, patterns, ARRAY_SIZE(patterns), &why))
		return mem_strdup("excluded");
	CHECK(why);
	return why;
}

static void check_why(const char *text, const char *part)
{
	auto_free char *why = why_not(text);

	if (!strstr(why, part))
		test_fail(__FILE__, __LINE__, "'%s': %s, not %s", text, why,
			  part);
}

TEST(a_line_is_excluded_if_every_part_matches)
{
	check_why("docker ps", "excluded");
	check_why("docker", "excluded");
	check_why("docker ps && git status; bazel build //x", "excluded");
	check_why("docker ps 2>&1 | docker load", "excluded");
	check_why("timeout 5 docker ps", "excluded");
	check_why("CI=1 docker ps", "excluded");
	check_why("docker run -v $PWD:/x \"$IMAGE\" *", "excluded");
	check_why("docker ps # rm x", "excluded");
	check_why("git commit -C HEAD", "excluded");
	check_why("git --no-pager log -c", "excluded");
	check_why("docker\tps \\\n -a", "excluded");
}

TEST(one_part_without_a_match_keeps_the_line_in_the_sandbox)
{
	check_why("docker ps && rm x", "'rm x'");
	check_why("rm x; docker ps", "'rm x'");
	check_why("docker ps\nrm x", "'rm x'");
	check_why("docker ps & rm x", "'rm x'");
	check_why("docker ps | sh", "'sh'");
	check_why("bazel build //x //y", "no entry");
	check_why("dockerx ps", "no entry");
	check_why("PATH=. docker ps", "no entry");
	check_why("DOCKER_HOST=x docker ps", "no entry");
	check_why("PATH=.; docker ps", "no command");
	check_why("$x ps", "no entry");
	check_why("", "no command");
	check_why("# docker ps", "no command");
	check_why("'docker' ps", "no entry");
}

TEST(cd_and_substitutions_keep_the_line_in_the_sandbox)
{
	check_why("cd x && docker ps", "directory");
	check_why("docker ps; builtin cd x", "directory");
	check_why("pushd x; docker ps", "directory");
	check_why("docker ps $(docker x)", "substitution");
	check_why("docker ps `docker x`", "substitution");
	check_why("docker ps <(docker x)", "substitution");
	check_why("docker ps > f", "redirects");
	check_why("docker ps >/dev/null", "redirects");
	check_why("docker ps < f", "redirects");
	check_why("docker load <<< x", "redirects");
	check_why("docker ps <<E\nE\n", "here-document");
	check_why("(docker ps)", "subshell");
	check_why("if docker ps; then docker x; fi", "keyword");
	check_why("docker() { rm x; }; docker ps", "column 7");
	check_why("docker ps 'x", "quote");
	check_why("docker ps $((x))", "arithmetic");
	check_why("find . -delete", "no entry");
	check_why("docker ps ${x-docker}", "excluded");
	check_why("docker ps ${x-<(rm y)}", "column 15");
	check_why("docker ps ${x-*(e:rm:)}", "column 16");
	check_why("docker ps \"${x-a\nb}\" ${x/a/<(rm y)}", "inside ${ }");
	check_why("nice m4 docker", "no entry");
	check_why("docker ps 2>&1", "excluded");
	check_why("docker ps <&-''", "behind <&-");
	check_why("nocorrect docker ps", "keyword");
	check_why("- docker ps", "keyword");
	check_why("repeat 2 docker ps", "keyword");
	check_why("docker ps 10>&1", "one digit");
	check_why("docker ps >&2-", "redirects");
	check_why("time docker ps", "excluded");
	check_why("time -p docker ps", "behind time");
	check_why("time -- docker ps", "behind time");
	check_why("time ! docker ps", "behind time");
}

TEST(git_in_another_directory_stays_in_the_sandbox)
{
	check_why("git -C x status", "git would use");
	check_why("git -c core.pager=x log", "git would use");
	check_why("git --git-dir=x status", "git would use");
	check_why("git --git-dir x status", "git would use");
	check_why("git --exec-path=x status", "git would use");
	check_why("git --work-tree x status", "git would use");
	check_why("git --config-env=a=b log", "git would use");
	check_why("git --no-pager -C x log", "git would use");
	check_why("git '-C' x log", "git would use");
	check_why("git $x log", "git would use");
	check_why("git {-C,x} log", "git would use");
	check_why("timeout 5 git -C x log", "git would use");
	check_why("docker x | xargs git", "git would use");
	check_why("docker x | xargs docker", "excluded");
}

TEST(a_long_line_is_matched_in_linear_time)
{
	struct buf b = { 0 };
	clock_t began;

	while (b.len + 10 <= SHELL_TEXT_MAX)
		buf_adds(&b, "docker ps;");
	began = clock();
	for (int i = 0; i < 20; i++)
		CHECK(excluded_match(b.p, patterns, 3, NULL));
	printf("# %.3f ms\n", (double)(clock() - began) * 1e3 /
	       CLOCKS_PER_SEC / 20);
	CHECK(clock() - began < CLOCKS_PER_SEC);
	buf_adds(&b, "#");
	CHECK(!excluded_match(b.p, patterns, 3, NULL));
	buf_done(&b);
}

TEST(a_long_line_after_unknown_options_is_matched_in_linear_time)
{
	static const char *const rules[] = { "rm *", "*z *", "a b*c", "a *" };
	struct buf b = { 0 };
	clock_t began;

	buf_adds(&b, "xargs -x");
	while (b.len + 2 <= SHELL_TEXT_MAX)
		buf_adds(&b, " b");
	began = clock();
	for (int i = 0; i < 100; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(rules); k++)
			CHECK(!covers(true, rules[k], b.p));
	}
	printf("# %.3f ms\n", (double)(clock() - began) * 1e3 /
	       CLOCKS_PER_SEC / 100);
	CHECK(clock() - began < 5 * CLOCKS_PER_SEC);
	buf_done(&b);
}
