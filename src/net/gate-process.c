/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/gate-process.c - the gate as its supervisor has it
 *
 * Theory of operation: at the end of a command the gate may still have to pass
 * something on. To ask it takes two switches of process; but whether it has
 * anything to do can be seen from outside. What came for it makes its epoll
 * descriptor ready, which we hold as well; what it has taken from there, it
 * works on before it says again that it waits. A connection that waits to be
 * accepted keeps its listener ready, so the order is: first look whether
 * anything is ready, then whether it waits with no connection open. The gate
 * might be taken over: what it says of itself costs nobody but itself.
 */

#include "net/gate-process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "net/gate.h"

enum { PATIENCE_S = 5 };	/* With a gate that takes no more messages */

static void forget(struct gate_process *p)
{
	close_fd(&p->control);
	close_fd(&p->names);
	loop_free(p->loop);
	p->loop = NULL;
	if (p->shared)
		(void)munmap(p->shared, sizeof(*p->shared));
	p->shared = NULL;
}

static int prepare(struct gate_process *p, struct err *err)
{
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED) {
		p->shared = NULL;
		return fail_errno(err, "cannot share memory with the gate");
	}
	return loop_new(&p->loop, err);
}

int gate_process_start(struct gate_process *p, const struct gate_config *from,
		       struct err *err)
{
	static const struct timeval patience = { PATIENCE_S, 0 };
	struct gate_config config = *from;
	int pair[2] = { -1, -1 }, names[2] = { -1, -1 };
	int r = sock_pair(pair);

	if (!r)
		r = sock_pair(names);
	p->control = pair[0];
	p->names = names[0];
	if (r < 0)
		(void)fail(err, r, "cannot make a socket for the gate: %s",
			   strerror(-r));
	else
		r = prepare(p, err);
	config.control = pair[1];
	config.names = names[1];
	config.loop = p->loop;
	config.shared = p->shared;
	if (!r) {
		p->pid = fork();
		if (!p->pid)
			gate_main(&config);
		if (p->pid < 0)
			r = fail_errno(err, "cannot start the network gate");
	}
	close_fd(&pair[1]);
	close_fd(&names[1]);
	if (r < 0) {
		p->pid = 0;
		forget(p);
		return r;
	}
	/* It might be taken over: it must not be able to stop us */
	(void)setsockopt(p->control, SOL_SOCKET, SO_SNDTIMEO, &patience,
			 sizeof(patience));
	return 0;
}

bool gate_process_is_idle(const struct gate_process *p)
{
	struct pollfd ready = { .fd = loop_fd(p->loop), .events = POLLIN };

	return poll(&ready, 1, 0) == 0 &&
	       atomic_load(&p->shared->waits) &&
	       !atomic_load(&p->shared->conns);
}

static void end(pid_t *pid, bool wait)
{
	if (*pid > 0) {
		(void)kill(*pid, SIGKILL);
		if (!wait)
			reap_later(*pid);
		while (wait && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*pid = 0;
}

int gate_process_resolve(struct gate_process *p, resolve_fn fn, int *theirs)
{
	int pair[2] = { p->names, -1 }, r = 0;

	*theirs = -1;
	if (p->resolvers++ >= GATE_RESOLVERS_MAX)
		return -ECHILD;
	end(&p->resolver, true);
	if (p->names < 0)
		r = sock_pair(pair);
	if (r < 0)
		return r;
	/* Without the jail's namespaces: names are resolved outside, as ever;
	 * only what is dialled is jailed
	 */
	reap_adopt();	/* Its helpers are its own children */
	p->resolver = fork();
	if (!p->resolver)
		resolve_main(pair[0], fn);
	if (p->resolver < 0)
		r = -errno;
	close_fd(&pair[0]);
	p->names = -1;
	*theirs = pair[1];
	return r;
}

void gate_process_end(struct gate_process *p, bool wait)
{
	end(&p->pid, wait);
	end(&p->resolver, wait);
	forget(p);
}
