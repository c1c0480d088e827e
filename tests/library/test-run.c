/* SPDX-License-Identifier: Apache-2.0 */
/* tests/library/test-run.c - libcloche: commands, events, prompts and policy updates */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "test.h"

/* A project to start in, and a directory that no rule mentions */
static void enter_project(char away[4096])
{
	char project[4096];

	snprintf(project, sizeof(project), "%s/project", test_dir());
	snprintf(away, 4096, "%s/away", test_dir());
	CHECK_INT(mkdir(project, 0755), 0);
	CHECK_INT(mkdir(away, 0755), 0);
	CHECK_INT(chdir(project), 0);
}

TEST(the_exit_status_is_returned)
{
	static const struct { const char *script; int status; } cases[] = {
		{ "true", 0 }, { "exit 7", 7 }, { "kill -9 $$", 137 },
		{ "no-such-command", 127 },
	};
	char away[4096];

	enter_project(away);
	for (size_t i = 0; i < 4; i++) {
		struct story story = { 0 };
		cloche_sandbox *box = make_box(NULL);

		CHECK_INT(run_script(box, &story, cases[i].script, NULL, 0),
			  cases[i].status);
		CHECK_INT(story.started, 1);
		CHECK_INT(story.ended, 1);
		CHECK_INT(story.result.error, 0);
		CHECK_INT(story.result.sandboxed, 1);
		CHECK_INT(story.violations, 0);
		cloche_sandbox_free(box);
	}
}

TEST(output_environment_and_directory_are_as_requested)
{
	const char *const argv[] = { "sh", "-c", "pwd; echo $LANG; echo e >&2; cat", NULL };
	const char *const env[] = { "LANG=C.UTF-8", "PATH=/usr/bin:/bin", NULL };
	cloche_sandbox *box = make_box(NULL);
	char away[4096], text[4096], want[5000];
	int out[2], stdio[3];
	struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv, .env = env,
		.directory = away, .stdio = stdio,
	};
	cloche_run *run;

	enter_project(away);
	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	test_write("input", "from a file\n");
	stdio[0] = open("input", O_RDONLY | O_CLOEXEC);
	stdio[1] = stdio[2] = out[1];
	CHECK_INT(cloche_start(box, &options, &run), 0);
	close(out[1]);
	CHECK_INT(cloche_run_wait(run, NULL), 0);
	read_all(out[0], text, sizeof(text));
	snprintf(want, sizeof(want), "%s\nC.UTF-8\ne\nfrom a file\n", away);
	CHECK_STR(text, want);
	cloche_run_free(run);
	cloche_sandbox_free(box);
}

/* What the command gets as HOME says nothing about whose policy it runs under */
TEST(the_commands_environment_does_not_choose_the_policy)
{
	const char *const argv[] = {
		"sh", "-c", "cat $1/.ssh/id_rsa $1/denied; cat $1/shown; echo $HOME",
		"sh", getenv("HOME"), NULL,
	};
	const char *const elsewhere[] = {
		"HOME=/nonexistent", "CLAUDE_CONFIG_DIR=/nonexistent",
		"XDG_CONFIG_HOME=/nonexistent", "PATH=/usr/bin:/bin", NULL,
	};
	const char *const *const envs[] = { NULL, elsewhere };
	char away[4096], path[5000], text[4096];

	enter_project(away);
	snprintf(path, sizeof(path), "%s/.ssh/id_rsa", argv[4]);
	test_write(path, "secret\n");
	snprintf(path, sizeof(path), "%s/denied", argv[4]);
	test_write(path, "secret\n");
	snprintf(path, sizeof(path), "%s/shown", argv[4]);
	test_write(path, "shown\n");
	snprintf(path, sizeof(path), "%s/.claude/settings.json", argv[4]);
	test_write(path, "{\"sandbox\": {\"filesystem\": {\"denyRead\": [\"~/denied\"]}}}");
	for (size_t i = 0; i < 2; i++) {
		cloche_sandbox *box = make_box(NULL);
		int out[2], stdio[3] = { -1, -1, -1 };
		struct cloche_run_options options = {
			.size = sizeof(options), .argv = argv, .env = envs[i],
			.stdio = stdio,
		};
		cloche_run *run;

		CHECK_INT(pipe2(out, O_CLOEXEC), 0);
		stdio[1] = out[1];
		CHECK_INT(cloche_start(box, &options, &run), 0);
		close(out[1]);
		CHECK_INT(cloche_run_wait(run, NULL), 0);
		read_all(out[0], text, sizeof(text));
		snprintf(path, sizeof(path), "shown\n%s\n",
			 envs[i] ? "/nonexistent" : argv[4]);
		CHECK_STR(text, path);
		cloche_run_free(run);
		cloche_sandbox_free(box);
	}
}

TEST(a_refused_write_is_an_event)
{
	struct story story = { 0 }, allowed = { 0 };
	cloche_sandbox *box = make_box(NULL);
	char away[4096], script[5000];

	enter_project(away);
	snprintf(script, sizeof(script), "echo hi >%s/file", away);
	CHECK(run_script(box, &story, script, NULL, 0) != 0);
	CHECK_INT(story.violations, 1);
	CHECK_CONTAINS(story.kinds, "fs-write ");
	CHECK_CONTAINS(story.kinds, "/away/file\n");
	CHECK_STR(story.report, "");

	CHECK_INT(cloche_sandbox_set(box, "write", away), 0);
	CHECK_INT(run_script(box, &allowed, script, NULL, 0), 0);
	CHECK_INT(allowed.violations, 0);
	cloche_sandbox_free(box);
}

TEST(the_footer_is_an_event_if_wanted)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	char away[4096], script[5000];

	enter_project(away);
	CHECK_INT(cloche_sandbox_set(box, "annotate", "tags"), 0);
	snprintf(script, sizeof(script), "echo hi >%s/file", away);
	CHECK(run_script(box, &story, script, NULL, 0) != 0);
	CHECK_CONTAINS(story.report, "<sandbox_violations>");
	cloche_sandbox_free(box);
}

/* A server on the host's loopback, and a shell line that says what the proxy
 * answers to a tunnel there
 */
static int listen_here(char *script, size_t size)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&a, len), 0);
	CHECK_INT(listen(fd, 8), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	snprintf(script, size, "get() { exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:%u HTTP/1.1\\r\\n\\r\\n' >&3; read -r a b c <&3; echo $b; }; ",
		 ntohs(a.sin_port));
	return fd;
}

static void run_bash(cloche_sandbox *box, struct story *story,
		     const char *define, const char *script, char *text,
		     size_t size)
{
	char all[2048];
	const char *const argv[] = { "bash", "-c", all, NULL };
	int out[2];
	cloche_run *run;

	snprintf(all, sizeof(all), "%s%s", define, script);
	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	run = start(box, story, out[1], argv);
	close(out[1]);
	CHECK_INT(cloche_run_wait(run, NULL), 0);
	read_all(out[0], text, size);
	cloche_run_free(run);
}

TEST(the_ask_callback_decides_about_a_host)
{
	static const struct {
		int answer, remember, questions;
		const char *out;
	} cases[] = {
		{ 0, 1, 1, "403\n403\n" }, { 1, 1, 1, "200\n200\n" },
		{ 1, 0, 2, "200\n200\n" }, { 2, 1, 1, "403\n403\n" },
	};
	char away[4096], define[512], text[256];
	const int server = listen_here(define, sizeof(define));

	enter_project(away);
	for (size_t i = 0; i < 4; i++) {
		struct story story = {
			.answer = cases[i].answer,
			.remember = cases[i].remember,
		};
		cloche_sandbox *box = make_box(NULL);

		run_bash(box, &story, define, "get; get", text, sizeof(text));
		CHECK_STR(text, cases[i].out);
		CHECK_INT(story.questions, cases[i].questions);
		CHECK_STR(story.host, "127.0.0.1");
		cloche_sandbox_free(box);
	}
	close(server);
}

TEST(without_an_ask_callback_hosts_are_refused)
{
	cloche_sandbox *box = make_box(NULL);
	char away[4096], define[512], text[256];
	const int server = listen_here(define, sizeof(define));

	enter_project(away);
	run_bash(box, NULL, define, "get", text, sizeof(text));
	CHECK_STR(text, "403\n");
	CHECK_INT(cloche_sandbox_set(box, "allow", "127.0.0.1"), 0);
	run_bash(box, NULL, define, "get", text, sizeof(text));
	CHECK_STR(text, "200\n");
	close(server);
	cloche_sandbox_free(box);
}

/* Start a script that waits for a line, and wait until it does */
static cloche_run *start_waiting(cloche_sandbox *box, struct story *story,
				 const char *script, int in[2], int out[2])
{
	cloche_run *run = start_piped(box, story, script, in, out);
	char c;

	CHECK_INT(read(out[0], &c, 1), 1);
	return run;
}

TEST(an_updated_policy_applies_at_once)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box("{\"filesystem\":{\"allowWrite\":[]}}");
	char away[4096], policy[5000], define[512], script[8192], text[256];
	const int server = listen_here(define, sizeof(define));
	int in[2], out[2];
	cloche_run *run;

	enter_project(away);
	snprintf(script, sizeof(script), "%secho; read x; try() { (echo hi >%s/file) 2>/dev/null && echo yes || echo no; }; try; get; read x; try; get; read x; try; get",
		 define, away);
	run = start_waiting(box, &story, script, in, out);
	CHECK_INT(write(in[1], "\n", 1), 1);
	CHECK_INT(read(out[0], text, 7), 3);	/* "no\n", then "403\n" */
	turn_until(run, &story.questions);
	CHECK_INT(read(out[0], text, 4), 4);

	snprintf(policy, sizeof(policy), "{\"filesystem\":{\"allowWrite\":[\"%s\"]},\"network\":{\"allowedDomains\":[\"127.0.0.1\"]}}",
		 away);
	CHECK_INT(cloche_run_update(run, policy), 1);
	turn_until(run, &story.updates);
	CHECK_INT(story.update_error, 0);
	CHECK_INT(write(in[1], "\n", 1), 1);
	CHECK_INT(read(out[0], text, 4), 4);
	CHECK(!memcmp(text, "yes\n", 4));
	CHECK_INT(read(out[0], text, 4), 4);
	CHECK(!memcmp(text, "200\n", 4));

	/* What is wrong changes nothing */
	story.updates = 1;
	CHECK_INT(cloche_run_update(run, "{\"filesystem\":{\"allowWrite\":7}}"), 2);
	while (story.updates == 1)
		CHECK_INT(cloche_run_turn(run), 1);
	CHECK_INT(story.update_error, -EINVAL);
	CHECK_CONTAINS(story.why, "allowWrite");
	CHECK_INT(cloche_run_update(run, "settings.json"), 3);
	while (story.updates == 2)
		CHECK_INT(cloche_run_turn(run), 1);
	CHECK_INT(story.update_error, -EINVAL);
	CHECK_INT(write(in[1], "\n", 1), 1);
	close(in[1]);
	read_all(out[0], text, sizeof(text));
	CHECK_STR(text, "yes\n200\n");
	CHECK_INT(cloche_run_wait(run, NULL), 0);
	cloche_run_free(run);
	cloche_sandbox_free(box);
	close(server);
}

TEST(a_signal_reaches_the_command)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	struct cloche_result how = { .size = sizeof(how) };
	char away[4096], text[64];
	int in[2], out[2];
	cloche_run *run;

	enter_project(away);
	run = start_waiting(box, &story, "trap 'echo got; exit 5' USR1; echo; while :; do :; done", in, out);
	CHECK_INT(cloche_run_signal(run, 0), -EINVAL);
	CHECK_INT(cloche_run_signal(run, 65), -EINVAL);
	CHECK_INT(cloche_run_signal(run, SIGUSR1), 0);
	CHECK_INT(cloche_run_wait(run, &how), 0);
	CHECK_INT(how.status, 5);
	CHECK_INT(cloche_run_signal(run, SIGUSR1), -ESRCH);
	CHECK_INT(cloche_run_update(run, "{}"), -ESRCH);
	CHECK_STR(cloche_run_message(run), "the command has ended");
	read_all(out[0], text, sizeof(text));
	CHECK_STR(text, "got\n");
	cloche_run_free(run);
	close(in[1]);
	cloche_sandbox_free(box);
}

TEST(a_limit_that_was_hit_is_reported)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	char away[4096];

	enter_project(away);
	CHECK_INT(cloche_sandbox_set(box, "timeout", "100ms"), 0);
	CHECK_INT(run_script(box, &story, "sleep 100", NULL, 0), 124);
	CHECK_CONTAINS(story.lines, "time limit");
	cloche_sandbox_free(box);
}

TEST(a_failed_start_is_a_result_with_a_message)
{
	static const struct { const char *policy, *words; int error; } cases[] = {
		{ "{\"filesystem\":{\"allowWrite\":7}}", "allowWrite", -EINVAL },
		{ "{\"a\":1,\"a\":2}", "1:", -EINVAL },
	};
	char away[4096];

	enter_project(away);
	for (size_t i = 0; i < 2; i++) {
		struct story story = { 0 };
		cloche_sandbox *box = make_box(cases[i].policy);
		struct cloche_result how = { .size = sizeof(how) };
		cloche_run *run = start_script(box, &story, -1, "true");

		CHECK_INT(cloche_run_wait(run, &how), cases[i].error);
		CHECK_INT(how.error, cases[i].error);
		CHECK_INT(how.status, 125);
		CHECK_CONTAINS(how.message, cases[i].words);
		CHECK_STR(cloche_run_message(run), how.message);
		CHECK_INT(story.started, 0);
		CHECK_INT(story.ended, 1);
		cloche_run_free(run);
		cloche_sandbox_free(box);
	}
}

TEST(wrong_calls_are_refused_with_a_message)
{
	struct { struct cloche_sandbox_options o; long more; } later = {
		.o = { .size = sizeof(later) },
	};
	struct cloche_sandbox_options bad = {
		.size = sizeof(bad), .policy = "/etc/settings.json",
	};
	const struct cloche_run_options none = { .size = sizeof(none) };
	cloche_sandbox *box = make_box(NULL), *other = NULL;
	cloche_run *run;
	char why[128], *line;

	CHECK_INT(cloche_sandbox_set(box, "no-such", "x"), -EINVAL);
	CHECK_CONTAINS(cloche_sandbox_message(box), "no-such");
	CHECK_INT(cloche_sandbox_set(box, "write", NULL), -EINVAL);
	CHECK_INT(cloche_sandbox_set(box, NULL, "x"), -EINVAL);
	CHECK_INT(cloche_start(box, NULL, &run), -EINVAL);
	CHECK_CONTAINS(cloche_sandbox_message(box), "options");
	CHECK_INT(cloche_sandbox_set(box, "ask", "x"), -EINVAL);
	CHECK_INT(cloche_sandbox_set(box, "timeout", "soon"), -EINVAL);
	CHECK_INT(cloche_sandbox_policy(box, "nothing"), -EINVAL);
	CHECK_INT(cloche_sandbox_new(&bad, &other, why, sizeof(why)), -EINVAL);
	CHECK_CONTAINS(why, "JSON");
	bad.size = 2;
	CHECK_INT(cloche_sandbox_new(&bad, &other, NULL, 0), -EINVAL);

	/* From a later library: what we do not know must be zero */
	CHECK_INT(cloche_sandbox_new(&later.o, &other, NULL, 0), 0);
	cloche_sandbox_free(other);
	later.more = 1;
	CHECK_INT(cloche_sandbox_new(&later.o, &other, NULL, 0), -E2BIG);

	CHECK(!cloche_wrap(box, NULL));
	line = cloche_wrap(box, (const char *const[]){ "a b", NULL });
	CHECK_CONTAINS(line, " run -- 'a b'");
	cloche_free(line);

	CHECK_INT(cloche_start(box, &none, &run), 0);
	CHECK_INT(cloche_run_wait(run, NULL), -EINVAL);
	CHECK_CONTAINS(cloche_run_message(run), "no command");
	cloche_run_free(run);
	cloche_sandbox_free(box);
}

static void starts_nothing(const char *program, int at_start, int later)
{
	const struct cloche_sandbox_options options = {
		.size = sizeof(options), .program = program,
	};
	const char *const argv[] = { "true", NULL };
	const int nothing[3] = { -1, -1, -1 };
	const struct cloche_run_options o = {
		.size = sizeof(o), .argv = argv, .stdio = nothing,
	};
	cloche_sandbox *box;
	cloche_run *run;

	CHECK_INT(cloche_sandbox_new(&options, &box, NULL, 0), 0);
	CHECK_INT(cloche_start(box, &o, &run), at_start);
	if (at_start < 0)
		CHECK_CONTAINS(cloche_sandbox_message(box), program);
	if (at_start == 0) {
		CHECK_INT(cloche_run_wait(run, NULL), later);
		cloche_run_free(run);
	}
	cloche_sandbox_free(box);
}

TEST(a_missing_or_foreign_program_is_an_error)
{
	starts_nothing("/no/such/program", -ENOENT, 0);
	starts_nothing("/", -EACCES, 0);
	starts_nothing("/bin/true", 0, -EPIPE);
	starts_nothing("/bin/cat", 0, -EPIPE);
}

/* What says hello over the socket as a program of another version would */
TEST(a_program_of_another_version_is_refused)
{
	char program[4200];

	snprintf(program, sizeof(program), "%s/cloche", test_dir());
	test_write(program, "#!/bin/sh\nprintf '\\004\\0\\0\\0\\0\\0\\0\\0\\060\\0x\\0' >&3\nread x <&3\n");
	CHECK_INT(chmod(program, 0755), 0);
	starts_nothing(program, 0, -EPROTO);
}

/* Only where settings and caller both say so, and never unsaid */
TEST(a_disabled_sandbox_is_used_by_the_library)
{
	static const char off[] = "{\"sandbox\":{\"enabled\":false}}";
	struct story story = { 0 }, kept = { 0 };
	cloche_sandbox *box = make_box(off);
	struct cloche_result how = { .size = sizeof(how) };
	char away[4096];
	int in[2], out[2];
	cloche_run *run;

	enter_project(away);
	CHECK_INT(run_script(box, &kept, "exit 3", NULL, 0), 3);
	CHECK_INT(kept.result.sandboxed, 1);
	CHECK_INT(cloche_sandbox_set(box, "allow-unsandboxed", NULL), 0);
	CHECK_INT(run_script(box, &story, "exit 3", NULL, 0), 3);
	CHECK_INT(story.result.sandboxed, 0);
	CHECK_CONTAINS(story.lines, "WITHOUT a sandbox");

	/* It has no supervisor: signals and the end are ours to bring */
	story = (struct story){ .started = 1 };
	run = start_waiting(box, &story, "trap 'exit 5' USR1; echo; while :; do :; done", in, out);
	do
		CHECK(cloche_run_turn(run) > 0);
	while (!story.lines[0]);
	CHECK_INT(cloche_run_signal(run, SIGUSR1), 0);
	CHECK_INT(cloche_run_wait(run, &how), 0);
	CHECK_INT(how.status, 5);
	cloche_run_free(run);
	close(in[1]);
	close(out[0]);

	story = (struct story){ .started = 1 };
	run = start_waiting(box, &story, "echo; exec sleep 1000", in, out);
	cloche_run_free(run);
	CHECK_INT(read(out[0], away, 1), 0);
	close(in[1]);
	close(out[0]);
	cloche_sandbox_free(box);
}
