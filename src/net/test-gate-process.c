/* SPDX-License-Identifier: Apache-2.0 */
/* net/test-gate-process.c - whether a gate has anything left to do */

#include "test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/loop.h"
#include "net/gate-process.h"
#include "net/gate.h"

static int on_event(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	return 0;
}

TEST(idle_is_who_waits_with_nothing_open_and_nothing_ready)
{
	struct gate_shared shared = { 0 };
	struct gate_process p = { .control = -1, .names = -1, .shared = &shared };
	struct loop_source listener = { .fn = on_event };
	eventfd_t one;

	CHECK_INT(loop_new(&p.loop, NULL), 0);
	listener.fd = eventfd(0, EFD_CLOEXEC);
	CHECK_INT(loop_add(p.loop, &listener, EPOLLIN), 0);

	CHECK(!gate_process_is_idle(&p));
	atomic_store(&shared.waits, true);
	CHECK(gate_process_is_idle(&p));
	atomic_store(&shared.conns, 1);
	CHECK(!gate_process_is_idle(&p));
	atomic_store(&shared.conns, 0);
	CHECK_INT(eventfd_write(listener.fd, 1), 0);
	CHECK(!gate_process_is_idle(&p));
	CHECK(!gate_process_is_idle(&p));
	CHECK_INT(eventfd_read(listener.fd, &one), 0);
	CHECK(gate_process_is_idle(&p));

	loop_free(p.loop);
	close(listener.fd);
}
