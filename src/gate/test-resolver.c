/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-resolver.c - the processes that resolve names */

#include "test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "gate/conn-timer.h"
#include "gate/resolver.h"
#include "ipc/socket.h"
#include "policy/host.h"

static void look_up(const char *name, struct resolve_answer *ret)
{
	if (!strcmp(name, "slow"))
		pause();
	ret->count = 1;
	ret->v[0].len = 4;
}

/* Start a resolver; its pid, and *@sock to it */
static pid_t start(int *sock)
{
	int pair[2];
	pid_t pid;

	CHECK_INT(socket_pair(pair), 0);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		resolve_serve(pair[1], look_up);
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

static void ask_until(int sock, uint64_t id, const char *name, int64_t deadline)
{
	struct resolve_request out = { .id = id, .deadline = deadline };

	memcpy(out.name, name, strlen(name) + 1);
	CHECK_INT(send(sock, &out, sizeof(out), 0), sizeof(out));
}

static void ask(int sock, uint64_t id, const char *name)
{
	ask_until(sock, id, name, INT64_MAX);
}

static void check_answer(int sock, uint64_t id)
{
	struct resolve_reply in;

	CHECK_INT(recv(sock, &in, sizeof(in), 0), sizeof(in));
	CHECK_INT(in.id, id);
	CHECK_INT(in.answer.count, 1);
}

static int count_helpers(pid_t pid)
{
	char path[64];
	int n = 0, one;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)pid);
	file = fopen(path, "r");
	if (!file)
		test_skip("no list of children in /proc");
	while (fscanf(file, "%d", &one) == 1)
		n++;
	fclose(file);
	return n;
}

static void end(pid_t pid, int sock)
{
	int status;

	close(sock);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

TEST(helpers_end_after_their_lookup_and_are_reaped)
{
	int sock;
	const pid_t pid = start(&sock);

	for (uint64_t i = 1; i <= 50; i++) {
		ask(sock, i, "name");
		check_answer(sock, i);
	}
	while (count_helpers(pid))
		sched_yield();
	end(pid, sock);
}

TEST(slow_lookups_do_not_delay_others_up_to_the_limit)
{
	int sock;
	const pid_t pid = start(&sock);

	for (uint64_t i = 1; i < RESOLVE_HELPERS_MAX; i++)
		ask(sock, i, "slow");
	ask(sock, 99, "name");
	check_answer(sock, 99);
	ask(sock, 100, "slow");
	ask(sock, 101, "name");
	while (count_helpers(pid) < RESOLVE_HELPERS_MAX)
		sched_yield();
	CHECK_INT(recv(sock, &(char){ 0 }, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK(count_helpers(pid) <= RESOLVE_HELPERS_MAX);
	end(pid, sock);
}

TEST(a_name_whose_deadline_has_passed_is_not_looked_up)
{
	int sock;
	const pid_t pid = start(&sock);

	for (uint64_t i = 2; i < 4; i++) {
		ask_until(sock, 1, "name", 1);
		ask(sock, i, "name");
		check_answer(sock, i);
	}
	end(pid, sock);
}

/* The process that is asked for helpers, and its answers; the last one ends the loop */
struct source {
	struct loop *loop;
	const int *says;
	int asked;
};

static int need(void *arg)
{
	struct source *s = arg;
	const int r = s->says[s->asked++];

	if (r != -EAGAIN)
		loop_stop(s->loop, 0);
	return r;
}

static void take(void *arg, const struct resolve_answer *answer)
{
	*(int *)arg = answer->error;
}

/* As the gate has it, it is there until the process ends */
static struct lookup *lookup;

/* Look a name up, until the last answer was given */
static void begin(struct source *source, struct resolve_wait *wait)
{
	static const unsigned int ms[TIMER_KINDS] = { [TIMER_PAUSE] = 1 };
	struct resolve_answer answer;
	struct timers *timers;
	struct host host;

	CHECK_INT(loop_new(&source->loop, NULL), 0);
	CHECK_INT(timers_new(source->loop, ms, &timers), 0);
	CHECK_INT(host_parse("a.test", 6, 80, &host), 0);
	lookup = lookup_new(source->loop, timers, need, source);
	CHECK_INT(lookup_ask(lookup, &host, wait, &answer), 0);
	CHECK_INT(loop_run(source->loop), 0);
}

TEST(a_request_for_helpers_is_repeated_after_eagain)
{
	static const int says[] = { -EAGAIN, -EAGAIN, 0 };
	struct source source = { .says = says };
	int got = 1, pair[2];
	struct resolve_wait wait = { .fn = take, .arg = &got };
	struct resolve_request in;

	begin(&source, &wait);
	CHECK_INT(source.asked, 3);
	CHECK_INT(got, 1);
	CHECK_INT(socket_pair(pair), 0);
	lookup_attach(lookup, pair[0]);
	CHECK_INT(recv(pair[1], &in, sizeof(in), MSG_DONTWAIT), sizeof(in));
	CHECK_STR(in.name, "a.test");
}

TEST(a_lookup_is_repeated_with_new_helpers)
{
	static const int says[] = { -EAGAIN, 0, 0 };
	struct source source = { .says = says };
	int got = 1, pair[2], next[2];
	struct resolve_wait wait = { .fn = take, .arg = &got }, other = wait;
	struct resolve_answer answer;
	struct resolve_request in;
	struct host host;

	begin(&source, &wait);
	CHECK_INT(socket_pair(pair), 0);
	lookup_attach(lookup, pair[0]);
	CHECK_INT(recv(pair[1], &in, sizeof(in), MSG_DONTWAIT), sizeof(in));
	CHECK_INT(close(pair[1]), 0);
	/* A lookup before the end of the process was noticed */
	CHECK_INT(host_parse("b.test", 6, 80, &host), 0);
	CHECK_INT(lookup_ask(lookup, &host, &other, &answer), 0);
	CHECK_INT(loop_run(source.loop), 0);
	CHECK_INT(source.asked, 3);
	CHECK_INT(socket_pair(next), 0);
	lookup_attach(lookup, next[0]);
	CHECK_INT(recv(next[1], &in, sizeof(in), MSG_DONTWAIT), sizeof(in));
	CHECK_STR(in.name, "b.test");
	CHECK_INT(recv(next[1], &in, sizeof(in), MSG_DONTWAIT), sizeof(in));
	CHECK_STR(in.name, "a.test");
	CHECK_INT(got, 1);
}

TEST(a_lookup_without_helpers_fails)
{
	static const int says[] = { -EAGAIN, -EPIPE };
	struct source source = { .says = says };
	int got = 1;
	struct resolve_wait wait = { .fn = take, .arg = &got };

	begin(&source, &wait);
	CHECK_INT(source.asked, 2);
	CHECK_INT(got, -EIO);
}
