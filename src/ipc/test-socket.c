/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/test-socket.c - descriptors over sockets, and their ends */

#include "ipc/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "test.h"

TEST(received_descriptors_are_close_on_exec)
{
	int pair[2], fds[2], one[2] = { 0, 1 };
	size_t n = 2;
	char byte;

	CHECK_INT(socket_pair(pair), 0);
	CHECK_INT(socket_send(pair[0], "x", 1, one, 2), 0);
	CHECK_INT(socket_recv(pair[1], &byte, 1, fds, &n), 1);
	CHECK_INT(n, 2);
	CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
}

TEST(too_many_descriptors_are_closed_and_refused)
{
	int pair[2], fds[1], two[2] = { 0, 1 }, before, after;
	size_t n = 1;
	char byte;

	CHECK_INT(socket_pair(pair), 0);
	before = dup(0);
	(void)close(before);
	CHECK_INT(socket_send(pair[0], "x", 1, two, 2), 0);
	CHECK_INT(socket_recv(pair[1], &byte, 1, fds, &n), -EMSGSIZE);
	after = dup(0);
	CHECK_INT(after, before);
}

TEST(end_of_file_returns_0_and_a_closed_peer_EPIPE)
{
	int pair[2];
	char byte;

	CHECK_INT(socket_pair(pair), 0);
	(void)close(pair[0]);
	CHECK_INT(socket_recv(pair[1], &byte, 1, NULL, NULL), 0);
	CHECK_INT(socket_send(pair[1], "x", 1, NULL, 0), -EPIPE);
}
