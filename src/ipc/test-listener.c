/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/test-listener.c - sets of listeners between processes */

#include "test.h"

#include <errno.h>
#include <fcntl.h>

#include "base/own.h"
#include "ipc/listener.h"
#include "ipc/socket.h"

static int some_fd(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

TEST(the_largest_listener_set_is_received_completely)
{
	struct listener_set out = { 0 }, in = { 0 };
	int pair[2];

	CHECK_INT(socket_pair(pair), 0);
	for (uint16_t i = 0; i < LISTENERS_MAX; i++)
		CHECK_INT(listener_add(&out, LISTENER_CAPTURE,
				       (uint16_t)(i + 1), some_fd()), 0);
	CHECK_INT(listener_add(&out, LISTENER_CAPTURE, 9, some_fd()), -ENOSPC);
	CHECK_INT(listener_send(pair[0], &out), 0);
	CHECK_INT(listener_recv(pair[1], &in), 0);
	CHECK_INT(in.len, LISTENERS_MAX);
	for (size_t i = 0; i < in.len; i++) {
		CHECK_INT(in.v[i].port, i + 1);
		CHECK_INT(in.v[i].role, LISTENER_CAPTURE);
		CHECK(fcntl(in.fds[i], F_GETFD) & FD_CLOEXEC);
	}
	listener_done(&in);
	listener_done(&out);
	CHECK_INT(in.len, 0);
}

TEST(only_captured_unprivileged_ports_are_released)
{
	static const struct listener rows[] = {
		{ LISTENER_CAPTURE, 8080 }, { LISTENER_HTTP, 3128 },
		{ LISTENER_CAPTURE, 1023 }, { LISTENER_CAPTURE, 1024 },
		{ LISTENER_HOST_PORT, 5432 },
	};
	struct listener_set set = { 0 };
	int fds[ARRAY_SIZE(rows)];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fds[i] = some_fd();
		CHECK_INT(listener_add(&set, rows[i].role, rows[i].port,
				       fds[i]), 0);
	}
	listener_yield(&set);
	CHECK_INT(set.len, 3);
	CHECK_INT(set.v[0].port, 3128);
	CHECK_INT(set.fds[0], fds[1]);
	CHECK_INT(set.v[1].port, 1023);
	CHECK_INT(set.v[2].port, 5432);
	CHECK_INT(fcntl(fds[0], F_GETFD), -1);
	CHECK_INT(fcntl(fds[3], F_GETFD), -1);
	listener_done(&set);
}

TEST(an_unknown_role_a_wrong_count_and_end_of_file_are_refused)
{
	const struct listener bad = { LISTENER_ROLES, 1 };
	const struct listener good[2] = { { LISTENER_HTTP, 1 } };
	struct listener_set in = { .len = 42 };
	const int fd = some_fd();
	int pair[2];

	CHECK_INT(socket_pair(pair), 0);
	CHECK_INT(socket_send(pair[0], &bad, sizeof(bad), &fd, 1), 0);
	CHECK_INT(listener_recv(pair[1], &in), -EPROTO);
	CHECK_INT(socket_send(pair[0], good, sizeof(good), &fd, 1), 0);
	CHECK_INT(listener_recv(pair[1], &in), -EPROTO);
	CHECK_INT(socket_send(pair[0], good, sizeof(*good), NULL, 0), 0);
	CHECK_INT(listener_recv(pair[1], &in), -EPROTO);
	close_fd(&pair[0]);
	CHECK_INT(listener_recv(pair[1], &in), -EPROTO);
	CHECK_INT(in.len, 42);
}
