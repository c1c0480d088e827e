/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-tls-end.c - a closed end leaves the event loop */

#include "tls/tls-end.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "test.h"

static int called;

static int on_event(void *arg)
{
	(void)arg;
	called++;
	return 0;
}

/* The gate has the client's socket open as well, so that closing it is not enough */
TEST(a_closed_end_leaves_the_event_loop_while_its_socket_is_open)
{
	struct tls_end end = { .source.fn = on_event };
	struct err err = { 0 };
	struct loop *loop;
	int pair[2], gate;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	gate = dup(pair[0]);
	CHECK(gate >= 0);
	end.source.fd = pair[0];
	CHECK_INT(loop_new(&loop, &err), 0);
	CHECK_INT(loop_add(loop, &end.source, EPOLLIN | EPOLLET), 0);
	CHECK_INT(write(pair[1], "x", 1), 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(called, 1);
	tls_end_close(loop, &end);
	CHECK_INT(end.source.fd, -1);
	CHECK_INT(write(pair[1], "x", 1), 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(called, 1);
	loop_free(loop);
}
