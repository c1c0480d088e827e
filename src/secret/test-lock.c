/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-lock.c - one writer at a time, however the others end */

#include "secret/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/place.h"
#include "test.h"

/**
 * struct asked - A lock that was asked for
 */
struct asked {
	struct loop *loop;
	struct lock *lock;
	bool answered;
	int r;
	struct err err;
};

static struct place *place;
static struct loop *loop;

static void begin(void)
{
	const char *path = test_path("store");

	place = place_new(path);
	CHECK_INT(loop_new(&loop, NULL), 0);
}

static void end(void)
{
	loop_free(loop);
	place_free(place);
}

static void on_lock(void *arg, int r, const struct err *err)
{
	struct asked *a = arg;

	a->answered = true;
	a->r = r;
	a->err = *err;
	loop_stop(loop, 0);
}

static void ask(struct asked *a, unsigned int ms)
{
	*a = (struct asked){ 0 };
	lock_take(&a->lock, loop, place, "lock", ms, on_lock, a);
}

TEST(nobody_holds_it_and_it_is_ours_at_once)
{
	struct asked a;

	begin();
	ask(&a, 1000);
	CHECK(a.answered);
	CHECK_INT(a.r, 0);
	lock_free(a.lock);
	ask(&a, 1000);
	CHECK(a.answered && !a.r);
	lock_free(a.lock);
	end();
}

TEST(the_second_waits_for_the_first)
{
	struct asked a, b;

	begin();
	ask(&a, 1000);
	ask(&b, 30000);
	CHECK(a.answered && !b.answered);
	lock_free(a.lock);
	CHECK_INT(loop_run(loop), 0);
	CHECK(b.answered);
	CHECK_INT(b.r, 0);
	/* It is really held: a third one waits */
	ask(&a, 30000);
	CHECK(!a.answered);
	lock_free(a.lock);
	lock_free(b.lock);
	end();
}

/* Who waits must not hold the lock of the one that is waited for */
TEST(the_second_waits_where_standard_descriptors_are_closed)
{
	struct asked a, b;

	begin();
	close(0);
	ask(&a, 1000);
	CHECK(a.answered && !a.r);
	CHECK(fcntl(0, F_GETFD) < 0);
	ask(&b, 30000);
	CHECK(!b.answered);
	lock_free(a.lock);
	CHECK_INT(loop_run(loop), 0);
	CHECK_INT(b.r, 0);
	lock_free(b.lock);
	end();
}

/* Nor what its caller reads and writes: somebody may wait for the end of that */
TEST(who_waits_holds_nothing_of_the_caller)
{
	struct asked a, b;
	char c;
	int p[2];

	begin();
	CHECK_INT(pipe2(p, O_CLOEXEC), 0);
	CHECK_INT(dup2(p[1], 0), 0);
	close(p[1]);
	ask(&a, 1000);
	ask(&b, 30000);
	CHECK(!b.answered);
	close(0);
	CHECK_INT(read(p[0], &c, 1), 0);
	close(p[0]);
	lock_free(b.lock);
	lock_free(a.lock);
	end();
}

TEST(waiting_has_an_end)
{
	struct asked a, b;

	begin();
	ask(&a, 1000);
	ask(&b, 20);
	CHECK_INT(loop_run(loop), 0);
	CHECK_INT(b.r, -ETIMEDOUT);
	CHECK_CONTAINS(b.err.msg, "another program");
	lock_free(b.lock);
	lock_free(a.lock);
	ask(&b, 1000);
	CHECK(b.answered && !b.r);
	lock_free(b.lock);
	end();
}

TEST(a_holder_that_is_killed_lets_go)
{
	struct asked a;
	int ready[2];
	char byte;
	pid_t pid;

	begin();
	CHECK(place_fd(place, true, NULL) >= 0);
	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		ask(&a, 1000);
		(void)!write(ready[1], a.r ? "n" : "y", 1);
		for (;;)
			pause();
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	ask(&a, 30000);
	CHECK(!a.answered);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(loop_run(loop), 0);
	CHECK_INT(a.r, 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	lock_free(a.lock);
	end();
}

TEST(giving_up_leaves_no_child_and_no_descriptor)
{
	struct asked a, b;
	int before, after;

	begin();
	ask(&a, 1000);
	before = dup(0);
	close(before);
	ask(&b, 30000);
	lock_free(b.lock);
	after = dup(0);
	close(after);
	CHECK_INT(after, before);
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	lock_free(a.lock);
	end();
}

TEST(a_lock_file_that_is_a_link_is_refused)
{
	struct asked a;
	auto_free char *path = NULL, *target = NULL;

	begin();
	CHECK(place_fd(place, true, NULL) >= 0);
	path = path_join(place_path(place), "lock");
	target = path_join(test_dir(), "target");
	test_write(target, "");
	CHECK_INT(symlink(target, path), 0);
	ask(&a, 1000);
	CHECK(a.answered && a.r < 0);
	lock_free(a.lock);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(link(target, path), 0);
	ask(&a, 1000);
	CHECK_INT(a.r, -EPERM);
	lock_free(a.lock);
	end();
}
