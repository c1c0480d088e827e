/* SPDX-License-Identifier: Apache-2.0 */
/* tests/library/test-host.c - libcloche does not disturb its host process */

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "test.h"

static int many(int quick, int patient)
{
	return getenv("CLOCHE_LONG") ? patient : quick;
}

enum { BLOCK_MIN = 32 };	/* Bytes that malloc() counts for the smallest block */

TEST(a_thousand_runs_leak_nothing)
{
	const int runs = many(100, 1000);
	cloche_sandbox *box = make_box("{\"network\":{\"allowedDomains\":[\"a.example\"]}}");
	size_t before = 0, after;
	int fds = 0;

	for (int i = 0; i < runs; i++) {
		struct story story = { 0 };
		char text[64];

		CHECK_INT(run_script(box, &story, "echo out; echo hi >/nowhere",
				     text, sizeof(text)) != 0, 1);
		CHECK(!strncmp(text, "out\n", 4));
		CHECK_INT(story.violations, 1);
		if (i == 4)		/* Warmed up */
			fds = count_fds();
		if (i == runs / 2)	/* The allocator too */
			before = mallinfo2().uordblks;
	}
	after = mallinfo2().uordblks;
	CHECK_INT(count_fds(), fds);
	CHECK_INT(count_children(), 0);
	/* A buffer may grow once; what each run leaks is a block of malloc() at least. A
	 * sanitizer's allocator keeps no such count: it looks for leaks.
	 */
	if (after >= before + BLOCK_MIN * (size_t)(runs - runs / 2 - 1))
		test_fail(__FILE__, __LINE__, "%zu bytes, then %zu", before,
			  after);
	cloche_sandbox_free(box);
}

TEST(failed_starts_leak_nothing)
{
	const struct cloche_sandbox_options missing = {
		.size = sizeof(missing), .program = "/no/such/program",
	};
	const char *const argv[] = { "true", NULL };
	const int stdio[3] = { -1, 999, -1 };
	struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv,
	};
	cloche_sandbox *box;
	cloche_run *run;
	const int fds = count_fds();

	for (int i = 0; i < 100; i++) {
		CHECK_INT(cloche_sandbox_new(&missing, &box, NULL, 0), 0);
		options.stdio = NULL;
		CHECK_INT(cloche_start(box, &options, &run), -ENOENT);
		options.stdio = stdio;
		CHECK_INT(cloche_start(box, &options, &run), -EBADF);
		cloche_sandbox_free(box);
	}
	CHECK_INT(count_fds(), fds);
	CHECK_INT(count_children(), 0);
}

static volatile int children_ended;

static void on_child(int signal)
{
	(void)signal;
	children_ended++;
}

TEST(runs_leave_signals_and_environment_unchanged)
{
	struct sigaction mine = { .sa_handler = on_child }, now;
	cloche_sandbox *box = make_box(NULL);
	char before[4096], after[4096];
	sigset_t mask, seen;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	CHECK_INT(sigaction(SIGCHLD, &mine, NULL), 0);
	CHECK_INT(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
	signal(SIGPIPE, SIG_IGN);
	umask(027);
	CHECK(getcwd(before, sizeof(before)));

	CHECK_INT(run_script(box, NULL, "true", NULL, 0), 0);
	/* The command has none of it */
	CHECK_INT(run_script(box, NULL, "kill -USR2 $$", NULL, 0),
		  128 + SIGUSR2);
	CHECK_INT(run_script(box, NULL, "kill -PIPE $$", NULL, 0),
		  128 + SIGPIPE);

	CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &seen), 0);
	for (int i = 1; i < NSIG; i++)
		CHECK_INT(sigismember(&seen, i), sigismember(&mask, i));
	CHECK_INT(sigaction(SIGCHLD, NULL, &now), 0);
	CHECK(now.sa_handler == on_child);
	CHECK_INT(sigaction(SIGPIPE, NULL, &now), 0);
	CHECK(now.sa_handler == SIG_IGN);
	CHECK_INT(umask(022), 027);
	CHECK(getcwd(after, sizeof(after)));
	CHECK_STR(after, before);
	CHECK_INT(prctl(PR_GET_DUMPABLE), 1);
	CHECK_INT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	cloche_sandbox_free(box);
}

static void *in_thread(void *arg)
{
	cloche_sandbox *box = make_box(NULL);
	const int want = *(const int *)arg;
	char script[32], text[32];

	snprintf(script, sizeof(script), "echo %d; exit %d", want, want);
	for (int i = 0; i < many(5, 50); i++) {
		struct story story = { 0 };

		CHECK_INT(run_script(box, &story, script, text, sizeof(text)),
			  want);
		CHECK_INT(strtol(text, NULL, 10), want);
		CHECK_INT(story.ended, 1);
	}
	cloche_sandbox_free(box);
	return NULL;
}

TEST(threads_run_commands_concurrently)
{
	enum { THREADS = 8 };
	pthread_t threads[THREADS];
	int numbers[THREADS];
	const int fds = count_fds();

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i + 10;
		CHECK_INT(pthread_create(&threads[i], NULL, in_thread,
					 &numbers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
	CHECK_INT(count_fds(), fds);
}

/* Start something that holds the write end of a pipe as long as it lives */
static cloche_run *start_long(cloche_sandbox *box, struct story *story,
			      int *ret_end)
{
	int out[2];
	cloche_run *run;
	char c;

	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	run = start_script(box, story, out[1],
			   "trap '' TERM; echo; setsid sleep 1000 & while :; do sleep 1000; done");
	close(out[1]);
	CHECK_INT(read(out[0], &c, 1), 1);
	*ret_end = out[0];
	return run;
}

static void ends_within(int end, int ms)
{
	struct pollfd p = { .fd = end, .events = POLLIN };
	char c;

	CHECK_INT(poll(&p, 1, ms), 1);
	CHECK_INT(read(end, &c, 1), 0);
	close(end);
}

TEST(freeing_a_run_ends_it)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	int end;
	cloche_run *run = start_long(box, &story, &end);

	cloche_run_free(run);
	ends_within(end, 60000);
	CHECK_INT(story.ended, 0);
	CHECK_INT(count_children(), 0);
	cloche_sandbox_free(box);
}

/* A child that the host forked keeps a copy of every descriptor; the host is
 * killed; the command must not outlive it all the same
 */
TEST(the_command_ends_with_its_host)
{
	int ends[2], hold[2], status;
	pid_t host;
	char c;

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(pipe2(hold, O_CLOEXEC), 0);
	host = fork();
	CHECK(host >= 0);
	if (!host) {
		cloche_sandbox *box = make_box(NULL);

		(void)start_script(box, NULL, ends[1], "echo; sleep 1000");
		close(ends[1]);
		close(hold[1]);
		if (!fork())	/* Lives on, with a copy of the socket */
			_exit(read(hold[0], &c, 1) != 0);
		pause();
	}
	close(ends[1]);
	CHECK_INT(read(ends[0], &c, 1), 1);
	CHECK_INT(kill(host, SIGKILL), 0);
	CHECK_INT(waitpid(host, &status, 0), host);
	ends_within(ends[0], 60000);
	close(hold[1]);
}

TEST(a_forked_host_may_free_an_inherited_run)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	int end, status;
	cloche_run *run = start_long(box, &story, &end);
	struct pollfd p = { .fd = end, .events = POLLIN };
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		const bool refused = cloche_run_signal(run, SIGKILL) == -ECHILD &&
				     cloche_run_turn(run) == -ECHILD;

		cloche_run_free(run);
		cloche_sandbox_free(box);
		_exit(refused ? 0 : 1);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	CHECK_INT(poll(&p, 1, 0), 0);		/* It goes on */
	CHECK_INT(cloche_run_turn(run), 1);
	CHECK_INT(cloche_run_signal(run, SIGKILL), 0);
	CHECK_INT(cloche_run_wait(run, NULL), 0);
	CHECK_INT(story.result.status, 137);
	ends_within(end, 60000);
	cloche_run_free(run);
	cloche_sandbox_free(box);
}

TEST(descriptors_of_the_host_are_not_inherited)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	int pair[2], end;
	cloche_run *run;

	/* Not close-on-exec, with a number that the program does not use */
	CHECK_INT(pipe(pair), 0);
	CHECK_INT(dup2(pair[1], 100), 100);
	close(pair[1]);
	run = start_long(box, &story, &end);
	close(100);
	ends_within(pair[0], 60000);	/* No other process has it open */
	cloche_run_free(run);
	close(end);
	cloche_sandbox_free(box);
}

TEST(a_host_without_standard_descriptors_can_run_commands)
{
	cloche_sandbox *box = make_box(NULL);
	const int saved = fcntl(1, F_DUPFD_CLOEXEC, 50);
	int status;

	for (int i = 0; i < 3; i++)
		close(i);
	/* The socket and the file of options get these numbers now */
	status = run_script(box, NULL, "exit 9", NULL, 0);
	CHECK_INT(dup2(saved, 1), 1);
	CHECK_INT(status, 9);
	cloche_sandbox_free(box);
}

/* Nor is the run's own socket what its command reads and writes, or what the
 * host prints to
 */
TEST(closed_standard_descriptors_are_dev_null_inside)
{
	static const char script[] =
		"for i in 0 1 2; do n=\"$n $(readlink /proc/$$/fd/$i)\"; done; "
		"echo $n >names";
	const char *const argv[] = { "sh", "-c", script, NULL };
	const struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv,
		.directory = test_dir(),
	};
	cloche_sandbox *box = make_box(NULL);
	const int saved = fcntl(1, F_DUPFD_CLOEXEC, 50);
	bool closed = true;
	char names[512];
	cloche_run *run[2];
	int r[2];

	for (int i = 0; i < 3; i++)
		close(i);
	for (int i = 0; i < 2; i++)
		r[i] = cloche_start(box, &options, &run[i]);
	for (int i = 0; i < 3; i++)
		closed = closed && fcntl(i, F_GETFD) < 0;
	for (int i = 0; i < 2; i++) {
		if (r[i] == 0) {
			r[i] = cloche_run_wait(run[i], NULL);
			cloche_run_free(run[i]);
		}
	}
	CHECK_INT(dup2(saved, 1), 1);
	CHECK_INT(r[0], 0);
	CHECK_INT(r[1], 0);
	CHECK(closed);
	snprintf(names, sizeof(names), "%s/names", test_dir());
	CHECK_STR(test_read(names), "/dev/null /dev/null /dev/null\n");
	cloche_sandbox_free(box);
}

static void *reap_everything(void *arg)
{
	int *n = arg;

	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		++*n;
	return NULL;
}

TEST(a_host_that_reaps_every_child_gets_the_result)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	cloche_run *run = start_script(box, &story, -1, "sleep 0.1; exit 4");
	struct cloche_result how = { .size = sizeof(how) };
	pthread_t thread;
	int n = 0;

	CHECK_INT(pthread_create(&thread, NULL, reap_everything, &n), 0);
	CHECK_INT(cloche_run_wait(run, &how), 0);
	CHECK_INT(how.status, 4);
	CHECK_INT(pthread_join(thread, NULL), 0);
	cloche_run_free(run);

	/* Or that has them reaped by the kernel */
	signal(SIGCHLD, SIG_IGN);
	CHECK_INT(run_script(box, NULL, "exit 6", NULL, 0), 6);
	cloche_sandbox_free(box);
}

TEST(a_host_that_reads_no_events_does_not_block_the_command)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	int out[2];
	cloche_run *run;
	char text[64];

	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	run = start_script(box, &story, out[1],
			   "i=0; while [ $i -lt 2000 ]; do true 2>/dev/null >/nowhere$i; i=$((i+1)); done; echo done");
	close(out[1]);
	read_all(out[0], text, sizeof(text));	/* Without a turn so far */
	CHECK_CONTAINS(text, "done");
	(void)cloche_run_wait(run, NULL);
	CHECK_STR(cloche_run_message(run), "");
	CHECK(story.violations > 0);
	cloche_run_free(run);
	cloche_sandbox_free(box);
}

/* With more on the way to the host than its socket holds */
TEST(a_host_that_reads_the_output_first_gets_the_result)
{
	enum { UPDATES = 3000 };
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	int in[2], out[2];
	cloche_run *run = start_piped(box, &story, "exec cat", in, out);
	char text[64];

	for (int i = 0; i < UPDATES; i++)
		CHECK(cloche_run_update(run, "wrong") > 0);
	/* It answers by now; no process reads the answer */
	CHECK_INT(write(in[1], "there\n", 6), 6);
	CHECK_INT(read(out[0], text, 6), 6);
	close(in[1]);
	read_all(out[0], text, sizeof(text));
	(void)cloche_run_wait(run, NULL);
	CHECK_STR(cloche_run_message(run), "");
	CHECK_INT(story.ended, 1);
	cloche_run_free(run);
	cloche_sandbox_free(box);
}

static long find_child(void)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		 (int)getpid());
	file = fopen(path, "re");
	CHECK(file);
	CHECK(fgets(text, sizeof(text), file));
	fclose(file);
	return strtol(text, NULL, 10);
}

TEST(a_killed_supervisor_ends_the_command)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box(NULL);
	struct cloche_result how = { .size = sizeof(how) };
	int end;
	cloche_run *run = start_long(box, &story, &end);

	CHECK_INT(kill((pid_t)find_child(), SIGKILL), 0);
	CHECK_INT(cloche_run_wait(run, &how), -EPIPE);
	CHECK_CONTAINS(how.message, "supervisor");
	CHECK_INT(story.ended, 1);
	ends_within(end, 60000);
	cloche_run_free(run);
	CHECK_INT(count_children(), 0);
	cloche_sandbox_free(box);
}

/* /proc shows the arguments of a process to every user */
TEST(policy_and_command_do_not_appear_in_argv)
{
	struct story story = { 0 };
	cloche_sandbox *box = make_box("{\"network\":{\"allowedDomains\":[\"secret.example\"]}}");
	char path[64], text[4096] = "";
	int end;
	cloche_run *run;
	FILE *file;
	long pid;

	CHECK_INT(cloche_sandbox_set(box, "env", "TOKEN=hunter2"), 0);
	run = start_long(box, &story, &end);
	pid = find_child();
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	file = fopen(path, "re");
	CHECK(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	CHECK_STR(text, "cloche");
	CHECK_STR(text + 7, "embedded");
	for (size_t i = 0; i < sizeof(text) - 10; i++)
		CHECK(memcmp(text + i, "hunter2", 7) != 0 &&
		      memcmp(text + i, "secret", 6) != 0);
	cloche_run_free(run);
	close(end);
	cloche_sandbox_free(box);
}
