/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-inflight-calls.c - when a call that was let through counts as over */

#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "observe/inflight-calls.h"
#include "observe/tracee.h"

static struct inflight *calls;
static struct seccomp_notif notif;	/* The call that the child is in */
static int end[2];
static pid_t child;

/* A child that stays in read(), which was let through */
static void set_up(void)
{
	uint64_t args[6] = { 0 };
	long nr = -1;
	char byte;

	calls = inflight_new();
	CHECK_INT(pipe(end), 0);
	child = fork();
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(read(end[0], &byte, 1) == 1 ? 0 : 1);
	}
	CHECK(child > 0);
	while (tracee_call(child, &nr, args) <= 0 || nr != SYS_read)
		;
	notif.pid = (uint32_t)child;
	notif.data.nr = SYS_read;
	memcpy(notif.data.args, args, sizeof(args));
	inflight_add(calls, &notif);
}

static void tear_down(void)
{
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	inflight_free(calls);
}

static bool is_settled(void)
{
	uint64_t n = 0;
	const bool settled = inflight_settled(calls, &n);

	CHECK_INT(n, inflight_count(calls));
	return settled;
}

TEST(a_call_is_pending_as_long_as_its_thread_is_in_it)
{
	set_up();
	for (int i = 0; i < 1000; i++)
		CHECK(!is_settled());
	inflight_note_call(calls, child + 1);	/* Another thread */
	CHECK(!is_settled());
	tear_down();
}

TEST(a_call_is_over_with_the_next_call_of_its_thread)
{
	set_up();
	inflight_note_call(calls, child);
	CHECK(is_settled());
	tear_down();
}

TEST(a_call_is_over_when_its_thread_is_in_another)
{
	set_up();
	notif.data.args[2]++;
	inflight_add(calls, &notif);
	CHECK(is_settled());
	tear_down();
}

TEST(a_call_is_over_when_its_thread_has_exited)
{
	set_up();
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK(is_settled());
	inflight_free(calls);
}
