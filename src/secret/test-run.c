/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-run.c - helper programs, and how they can misbehave */

#include "secret/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "test.h"

static struct loop *loop;
static struct run_list list;
static struct run_result last;
static char output[4096];
static int ended;

static void on_end(void *arg, struct run_result *result)
{
	(void)arg;
	last = *result;
	snprintf(output, sizeof(output), "%s", bytes_str(&result->out));
	ended++;
	loop_stop(loop, 0);
}

/* Run a shell script and wait for its end */
static int run(const char *script, const char *input, size_t max,
	       unsigned int ms)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	auto_bytes struct bytes in = { 0 };
	const struct run_spec spec = { argv, &in, max, ms };

	CHECK_INT(loop_new(&loop, NULL), 0);
	bytes_adds(&in, input);
	ended = 0;
	run_start(&list, loop, &spec, on_end, NULL);
	if (!ended)
		CHECK_INT(loop_run(loop), 0);
	CHECK_INT(ended, 1);
	CHECK(!list.first);
	loop_free(loop);
	/* Nothing of it is left to wait for */
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	return last.r;
}

TEST(bytes_go_in_and_come_out)
{
	CHECK_INT(run("cat; echo words >&2; exit 3", "hello", 100, 30000), 0);
	CHECK_STR(output, "hello");
	CHECK_STR(last.words, "words");
	CHECK_INT(last.code, 3);
}

TEST(a_lot_goes_both_ways_at_once)
{
	auto_bytes struct bytes in = { 0 };

	for (int i = 0; i < 1 << 19; i++)
		bytes_addc(&in, 'x');
	CHECK_INT(run("cat | wc -c; dd if=/dev/zero bs=1k count=200 2>/dev/null | tr '\\0' y",
		      in.p, 1 << 20, 60000), 0);
	CHECK_INT(strtoul(output, NULL, 10), 1 << 19);
}

TEST(a_helper_that_does_not_read_is_no_trouble)
{
	auto_bytes struct bytes in = { 0 };

	for (int i = 0; i < 1 << 20; i++)
		bytes_addc(&in, 'x');
	CHECK_INT(run("exec <&-; echo done", in.p, 100, 30000), 0);
	CHECK_STR(output, "done\n");
}

TEST(one_that_hangs_is_killed_with_its_children)
{
	CHECK_INT(run("sleep 1000 & sleep 1000", "", 100, 50), -ETIMEDOUT);
	CHECK_CONTAINS(last.err.msg, "'sh' did not answer in time");
}

TEST(one_that_crashes_is_not_taken_for_an_answer)
{
	CHECK_INT(run("echo '{}'; kill -9 $$", "", 100, 30000), -EPIPE);
	CHECK_CONTAINS(last.err.msg, "crashed");
}

TEST(one_that_talks_without_end_is_killed)
{
	CHECK_INT(run("exec yes", "", 1 << 20, 30000), -EMSGSIZE);
	CHECK_INT(run("printf 12345", "", 5, 30000), 0);
	CHECK_INT(run("printf 123456", "", 5, 30000), -EMSGSIZE);
}

TEST(one_that_is_not_there_says_so)
{
	const char *const argv[] = { "/nonexistent/helper", NULL };
	const struct bytes in = { 0 };
	const struct run_spec spec = { argv, &in, 10, 1000 };

	CHECK_INT(loop_new(&loop, NULL), 0);
	run_start(&list, loop, &spec, on_end, NULL);
	CHECK_INT(ended, 1);
	CHECK_INT(last.r, -ENOENT);
	CHECK_CONTAINS(last.err.msg, "/nonexistent/helper");
	loop_free(loop);
}

TEST(a_grandchild_that_keeps_the_pipe_holds_nobody_up)
{
	CHECK_INT(run("setsid sleep 1000 & echo $!", "", 100, 30000), 0);
	CHECK_INT(kill((pid_t)strtoul(output, NULL, 10), SIGKILL), 0);
}

TEST(it_gets_no_environment_but_the_table_s_and_no_descriptors)
{
	CHECK_INT(setenv("GITHUB_TOKEN", "leak", 1), 0);
	CHECK_INT(setenv("LD_PRELOAD", "", 1), 0);
	CHECK_INT(dup2(1, 77), 77);
	CHECK_INT(run("env; ls /proc/self/fd", "", 4000, 30000), 0);
	CHECK(!strstr(output, "TOKEN"));
	CHECK(!strstr(output, "LD_PRELOAD"));
	CHECK_CONTAINS(output, "PATH=");
	CHECK(!strstr(output, "77"));
}

TEST(cancelling_answers_everybody)
{
	const char *const argv[] = { "/bin/sleep", "1000", NULL };
	const struct bytes in = { 0 };
	const struct run_spec spec = { argv, &in, 10, 60000 };

	CHECK_INT(loop_new(&loop, NULL), 0);
	for (int i = 0; i < 3; i++)
		run_start(&list, loop, &spec, on_end, NULL);
	CHECK_INT(ended, 0);
	run_cancel_all(&list);
	CHECK_INT(ended, 3);
	CHECK_INT(last.r, -ECANCELED);
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	loop_free(loop);
}
