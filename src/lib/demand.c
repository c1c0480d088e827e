/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/demand.c - ports that are captured when somebody connects to them
 *
 * A destination that nobody connected to for a while gives its listener up when
 * another comes, so they are few, and the port can be a server's; when there are
 * too many, the one that waited longest goes. A server that wants the port gets it
 * at once: the gate lets go of a listener in its own time, but that it listens no
 * more is for everybody who has it to say.
 */

#include "lib/demand.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "cage/netkeeper.h"
#include "net/gatekeeper.h"
#include "plan/listener.h"

enum {
	ON_DEMAND_MAX = 256,		/* Destinations */
	ON_DEMAND_IDLE_MS = 60000,	/* Without a connect() to it */
};

/**
 * struct destination - One that is captured
 * @id:		The gate's name for its listener
 * @listener:	The same, here; or -1
 * @used_ms:	When somebody last connected to it
 */
struct destination {
	struct sockaddr_in6 address;
	uint32_t id;
	int listener;
	int64_t used_ms;
};

void demand_done(struct demand *d)
{
	for (size_t i = 0; i < d->len; i++)
		close_fd(&d->v[i].listener);
	free(d->v);
}

static void release(struct demand *d, struct gatekeeper *gate, size_t i)
{
	if (d->v[i].listener >= 0)
		(void)shutdown(d->v[i].listener, SHUT_RDWR);
	close_fd(&d->v[i].listener);
	gatekeeper_remove(gate, d->v[i].id);
	d->v[i] = d->v[--d->len];
	d->count = d->len;
}

/* Let go of what is not used, and of the least used if that is not enough */
static void make_room(struct demand *d, struct gatekeeper *gate)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC_COARSE);
	size_t oldest = 0;

	for (size_t i = d->len; i-- > 0;) {
		if (now - d->v[i].used_ms > ON_DEMAND_IDLE_MS)
			release(d, gate, i);
	}
	if (d->len < ON_DEMAND_MAX)
		return;
	for (size_t i = 1; i < d->len; i++) {
		if (d->v[i].used_ms < d->v[oldest].used_ms)
			oldest = i;
	}
	release(d, gate, oldest);
}

bool demand_has(struct demand *d, const struct sockaddr_in6 *a)
{
	for (size_t i = 0; i < d->len; i++) {
		if (memcmp(&d->v[i].address, a, sizeof(*a)) != 0)
			continue;
		d->v[i].used_ms = now_ms(CLOCK_MONOTONIC_COARSE);
		return true;
	}
	return false;
}

/* An IPv4 destination gets an IPv4 listener: the program may use the same port
 * for a server of its own on the other family
 */
static int listen_for(struct netkeeper *keeper, const struct sockaddr_in6 *a)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = a->sin6_port,
	};

	if (!IN6_IS_ADDR_V4MAPPED(&a->sin6_addr))
		return netkeeper_listen(keeper, (const struct sockaddr *)a,
					sizeof(*a));
	memcpy(&four.sin_addr, a->sin6_addr.s6_addr + 12, 4);
	return netkeeper_listen(keeper, (const struct sockaddr *)&four,
				sizeof(four));
}

void demand_add(struct demand *d, struct gatekeeper *gate,
		struct netkeeper *keeper, const struct sockaddr_in6 *a)
{
	struct gatekeeper_listener row = {
		LISTENER_CAPTURE, ntohs(a->sin6_port), 0,
	};
	auto_close int copy = -1;
	int fd;

	make_room(d, gate);
	fd = listen_for(keeper, a);
	if (fd < 0)	/* The program's own server, perhaps */
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	row.id = ++d->last_id;
	if (gatekeeper_add(gate, &row, fd) == 0)
		*vec_push(d) = (struct destination){
			*a, row.id, take_fd(&copy),
			now_ms(CLOCK_MONOTONIC_COARSE),
		};
	d->count = d->len;
}

bool demand_is_in_the_way(const struct demand *d,
			  const struct sockaddr_in6 *a)
{
	const struct in6_addr *ip = &a->sin6_addr;

	return d->count && a->sin6_port && !IN6_IS_ADDR_LOOPBACK(ip) &&
	       !(IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
}

void demand_yield(struct demand *d, struct gatekeeper *gate,
		  const struct sockaddr_in6 *a)
{
	for (size_t i = d->len; i-- > 0;) {
		if (d->v[i].address.sin6_port == a->sin6_port)
			release(d, gate, i);
	}
}
