/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/dial.c - connect to one of a host's addresses
 *
 * Theory of operation: the addresses are tried one after the other, each for
 * TIMER_ATTEMPT, all of them for TIMER_DIAL. Some routers and tunnels drop all IPv6
 * packets, and each connection would wait for a timeout. So a family that did not
 * answer where the other one did is tried second for SILENT_MS.
 */

#include "gate/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "base/sys.h"
#include "gate/address.h"
#include "gate/splice.h"

enum { SILENT_MS = 60000 };	/* Until a family is tried first again */

/* The gate has one thread */
static enum host_kind silent;
static int64_t silent_until;

static void try_next(struct dial *d);

void dial_stop(struct dial *d)
{
	timer_stop(d->timers, &d->total);
	timer_stop(d->timers, &d->attempt);
}

static void end_dial(struct dial *d, int error)
{
	dial_stop(d);
	if (!error && d->silent &&
	    d->silent != d->v[d->next - 1].kind) {
		silent = d->silent;
		silent_until = timer_now() + SILENT_MS;
	}
	if (error)
		splice_end_close(d->loop, d->end);
	d->fn(d->arg, error);
}

static void skip_address(struct dial *d, int error)
{
	if (error != -ECONNREFUSED)
		d->silent = d->v[d->next - 1].kind;
	d->error = error;
	splice_end_close(d->loop, d->end);
	try_next(d);
}

static int on_event(void *arg)
{
	struct dial *d = arg;
	int error = 0;

	splice_end_note(d->end, d->end->source.events);
	if (!d->end->writable)
		return 0;
	if (d->end->hung_up)
		error = sys_socket_option(d->end->source.fd, SO_ERROR);
	if (error)
		skip_address(d, error < 0 ? error : -error);
	else
		end_dial(d, 0);
	return 0;
}

/* A server on this machine has answered by now. The bits of poll() are those of
 * epoll.
 */
static void check_now(struct dial *d)
{
	struct pollfd p = {
		.fd = d->end->source.fd, .events = POLLIN | POLLOUT,
	};
	int r;

	if (poll(&p, 1, 0) == 1) {
		d->end->source.events = (uint32_t)p.revents;
		(void)on_event(d);
		return;
	}
	r = splice_end_watch(d->loop, d->end);
	if (r < 0)
		skip_address(d, r);
}

static void on_attempt_over(void *arg)
{
	skip_address(arg, -ETIMEDOUT);
}

static void on_total_over(void *arg)
{
	end_dial(arg, -ETIMEDOUT);
}

enum { KEEP_ALIVE_S = 60 };	/* Routers forget a connection that is silent longer */

/* Keepalive that the command has set ends at the gate */
static void set_up(int fd)
{
	static const int on = 1, idle = KEEP_ALIVE_S;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
}

/* The same address, for a socket that serves both families */
static socklen_t map(struct sockaddr_storage *sa)
{
	const struct sockaddr_in four = *(const struct sockaddr_in *)sa;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)sa;

	if (sa->ss_family == AF_INET) {
		*six = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = four.sin_port,
			.sin6_addr.s6_addr = { [10] = 0xff, [11] = 0xff },
		};
		memcpy(six->sin6_addr.s6_addr + 12, &four.sin_addr, 4);
	}
	return sizeof(*six);
}

/* Start connecting @fd. 0, or a negative errno and @fd is closed. */
static int connect_to(struct dial *d, int fd, const struct host *address,
		      bool as_ipv6)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int r = address_to_sockaddr(address, &sa, &len);

	set_up(fd);
	if (!r && as_ipv6)
		len = map(&sa);
	*d->end = (struct splice_end){ .source = { fd, on_event, d } };
	if (!r && connect(fd, (const struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)
		r = -errno;
	if (r < 0)
		close_fd(&d->end->source.fd);
	return r;
}

static void try_next(struct dial *d)
{
	while (d->next < d->count) {
		const struct host *address = &d->v[d->next++];
		const int family = address->kind == HOST_IPV6 ? AF_INET6
							      : AF_INET;
		const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC |
				      SOCK_NONBLOCK, 0);
		const int r = fd < 0 ? -errno
				 : connect_to(d, fd, address, false);

		if (!r) {
			/* The last one may use up what is left of the total */
			if (d->next < d->count)
				timer_start(d->timers, &d->attempt,
					    TIMER_ATTEMPT);
			else
				timer_stop(d->timers, &d->attempt);
			check_now(d);
			return;
		}
		d->error = r;
	}
	end_dial(d, d->error);
}

void dial_add(struct dial *d, const struct host *address)
{
	bool other = d->count > 0;
	size_t at = d->count;

	for (size_t i = 0; i < d->count; i++)
		other &= d->v[i].kind != address->kind;
	if (other)
		at = 1;
	else if (d->count == DIAL_ADDRESSES_MAX)
		return;
	if (d->count < DIAL_ADDRESSES_MAX)
		d->count++;
	memmove(&d->v[at + 1], &d->v[at],
		(d->count - 1 - at) * sizeof(*d->v));
	d->v[at] = *address;
}

static void prefer_answering(struct dial *d)
{
	const struct host first = d->v[0];

	if (d->count < 2 || first.kind != silent || d->v[1].kind == silent ||
	    timer_now() >= silent_until)
		return;
	d->v[0] = d->v[1];
	d->v[1] = first;
}

static void prepare_attempt(struct dial *d)
{
	d->next = 0;
	d->silent = HOST_NAME;
	d->error = -EHOSTUNREACH;
	d->total.fn = on_total_over;
	d->attempt.fn = on_attempt_over;
	d->total.arg = d->attempt.arg = d;
	timer_start(d->timers, &d->total, TIMER_DIAL);
}

void dial_start(struct dial *d)
{
	prepare_attempt(d);
	prefer_answering(d);
	try_next(d);
}

void dial_start_with(struct dial *d, int fd)
{
	int r;

	prepare_attempt(d);
	d->next = d->count;
	r = connect_to(d, fd, &d->v[0],
		       sys_socket_option(fd, SO_DOMAIN) == AF_INET6);
	if (r < 0)
		end_dial(d, r);
	else
		check_now(d);
}
