/* SPDX-License-Identifier: Apache-2.0 */
/* guard/test-journal.c - the journal of a run that was killed */

#include "guard/journal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "test.h"

enum { LIVING = 300, WRITES = 200, NAMES = 40000 };

static struct journal make(const char *run)
{
	struct journal j = { .run = mem_strdup(run), .cwd = mem_strdup("/p") };

	*vec_push(&j.roots) = mem_strdup("/p");
	return j;
}

/* A run that is over, and did not say so */
static void leave(const char *state, const struct journal *j)
{
	const int fd = journal_write(state, j, NULL);

	CHECK(fd >= 0);
	(void)close(fd);
}

static bool count(void *arg, const struct journal *j)
{
	*(size_t *)arg += j->existing.len + 1;
	return true;
}

static size_t replay(const char *state)
{
	size_t n = 0;

	journal_replay(state, count, &n);
	return n;
}

TEST(a_journal_stores_any_number_of_names)
{
	const char *state = test_path("state");
	struct journal j = make("many");

	for (int i = 0; i < NAMES; i++)
		*vec_push(&j.existing) =
			mem_printf("/p/a-directory/%d/.vscode", i);
	leave(state, &j);
	CHECK_INT(replay(state), NAMES + 1);
	CHECK_INT(replay(state), 0);
	journal_done(&j);
}

TEST(a_shortened_journal_is_replayed)
{
	const char *state = test_path("state");
	struct journal j = make("shorter");
	int fd;

	*vec_push(&j.existing) = mem_strdup("/p/.claude/settings.local.json");
	*vec_push(&j.existing) = mem_strdup("/p/.mcp.json");
	fd = journal_write(state, &j, NULL);
	CHECK(fd >= 0);
	free(j.existing.v[0]);
	j.existing.v[0] = j.existing.v[--j.existing.len];
	journal_rewrite(fd, &j);
	(void)close(fd);
	CHECK_INT(replay(state), 2);
	journal_done(&j);
}

/* Locks are of a process: the living need one of their own */
static pid_t live(const char *state, int told)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < LIVING; i++) {
		auto_free char *run = mem_printf("living-%d", i);
		struct journal j = make(run);

		if (journal_write(state, &j, NULL) < 0)
			_exit(1);
		journal_done(&j);
	}
	(void)!write(told, "", 1);
	for (;;)
		(void)pause();
}

TEST(journals_of_killed_runs_are_found_among_those_of_live_runs)
{
	const char *state = test_path("state");
	int told[2];
	pid_t pid;
	char c;

	CHECK_INT(pipe(told), 0);
	pid = live(state, told[1]);
	CHECK(pid > 0);
	CHECK_INT(read(told[0], &c, 1), 1);
	for (int i = 0; i < JOURNAL_REPLAY_MAX; i++) {
		auto_free char *run = mem_printf("dead-%d", i);
		struct journal j = make(run);

		leave(state, &j);
		journal_done(&j);
	}
	CHECK_INT(replay(state), JOURNAL_REPLAY_MAX);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(replay(state), JOURNAL_REPLAY_MAX);
}

/* Others that start clean up all the time, and must not take it for dead */
TEST(a_replay_leaves_the_journals_of_starting_runs)
{
	const char *state = test_path("state");
	const pid_t pid = fork();

	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)replay(state);
	}
	CHECK(pid > 0);
	for (int i = 0; i < WRITES; i++) {
		/* No two runs have the same name */
		auto_free char *run = mem_printf("mine-%d", i);
		auto_free char *file = mem_printf("%s/journal/%s.json", state,
						  run);
		struct journal j = make(run);
		const int fd = journal_write(state, &j, NULL);

		CHECK(fd >= 0);
		CHECK_INT(access(file, F_OK), 0);
		journal_remove(state, &j);
		(void)close(fd);
		journal_done(&j);
	}
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}
