/* SPDX-License-Identifier: Apache-2.0 */
/* run/test-socket-owner.c - the process that owns a socket, found in bounded time */

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/socket-owner.h"
#include "test.h"

static int sock = -1, end[2];

/* A process that holds the socket until we end */
static pid_t hold(void)
{
	const pid_t pid = fork();
	char c;

	if (!pid) {
		close(end[1]);
		_exit(read(end[0], &c, 1) != 0);
	}
	return pid;
}

/* Our copy is closed: its inode's number */
static uint64_t let_go(void)
{
	struct stat st;

	CHECK(fstat(sock, &st) == 0);
	close(sock);
	return st.st_ino;
}

static void set_up(void)
{
	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(sock >= 0);
	CHECK(pipe(end) == 0);
}

TEST(only_the_owner_of_the_socket_is_found)
{
	pid_t other, one;
	uint64_t inode;

	set_up();
	one = hold();
	inode = let_go();
	other = hold();
	CHECK(one > 0 && other > 0);
	CHECK(socket_owner_find(getpid(), inode, 0) == one);
	CHECK(socket_owner_find(getpid(), inode, other) == one);
	CHECK(socket_owner_find(other, inode, 0) == 0);
	close(end[1]);
}

static void *stay(void *arg)
{
	char c;

	(void)!read(end[0], &c, 1);
	return arg;
}

static void start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t small;
	pthread_t thread;

	CHECK(pthread_attr_init(&small) == 0);
	CHECK(pthread_attr_setstacksize(&small, 64 << 10) == 0);
	CHECK(pthread_create(&thread, &small, fn, arg) == 0);
}

/* A process belongs to the thread that made it: the last one */
static pid_t holder;
static int ready[2];

static void *hold_and_stay(void *arg)
{
	holder = hold();
	(void)!write(ready[1], "", 1);
	return stay(arg);
}

/* The owner that is found behind @n threads, including our first */
static pid_t behind(size_t n)
{
	pid_t found;
	char c;

	set_up();
	CHECK(pipe(ready) == 0);
	for (size_t i = 2; i < n; i++)
		start(stay, NULL);
	start(hold_and_stay, NULL);
	CHECK(read(ready[0], &c, 1) == 1);
	found = socket_owner_find(getpid(), let_go(), 0);
	close(end[1]);
	return found;
}

TEST(an_owner_behind_many_threads_is_found)
{
	const pid_t found = behind(SOCKET_OWNER_THREADS_MAX);

	CHECK(found && found == holder);
}

TEST(an_owner_behind_too_many_threads_is_not_searched_for)
{
	CHECK(behind(SOCKET_OWNER_THREADS_MAX + 1) == 0);
}
