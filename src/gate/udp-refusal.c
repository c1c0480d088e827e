/* SPDX-License-Identifier: Apache-2.0 */
/* gate/udp-refusal.c - report datagrams that no socket takes
 *
 * Only DNS is served by datagram. Any other datagram is refused by the kernel,
 * since no socket in the namespace has that port; ICMP tells the sender, and us.
 */

#include "gate/gate-state.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "gate/address.h"
#include "gate/fake-ip.h"
#include "gate/proto/icmp.h"
#include "ipc/listener.h"
#include "policy/host.h"

enum {
	MESSAGES_MAX = 64,	/* Before other sources have their turn */
	REPORTED_MAX = 32,	/* Destinations that are remembered */
};

/**
 * struct udp_refusals - Reported destinations, the oldest overwritten
 */
struct udp_refusals {
	struct { uint8_t to[16]; uint16_t port; } v[REPORTED_MAX];
	size_t next;
};

static bool was_reported(struct gate *gate, const struct listener_client *c)
{
	struct udp_refusals *u;
	size_t i = 0;

	if (!gate->udp)
		gate->udp = mem_zalloc(sizeof(*gate->udp));
	u = gate->udp;
	while (i < REPORTED_MAX && i < u->next &&
	       (u->v[i].port != c->to_port ||
		memcmp(u->v[i].to, c->to, sizeof(c->to)) != 0))
		i++;
	if (i < REPORTED_MAX && i < u->next)
		return true;
	i = u->next++ % REPORTED_MAX;
	memcpy(u->v[i].to, c->to, sizeof(c->to));
	u->v[i].port = c->to_port;
	return false;
}

/* A closed port of the sandbox itself would be closed without a gate as well */
static bool is_own(const struct host *to)
{
	static const uint8_t own4[4] = LISTENER_OWN_IPV4;
	static const uint8_t own6[16] = LISTENER_OWN_IPV6;

	return address_is_loopback(to) ||
	       (to->kind == HOST_IPV4 ? !memcmp(to->address, own4, sizeof(own4))
				      : !memcmp(to->address, own6, sizeof(own6)));
}

void udp_refusal_report_one(struct gate *gate, const struct listener_client *c,
			    const char *reason)
{
	struct host host;

	host_of_address(c->to, c->family == 4 ? 4 : 16, c->to_port, &host);
	if (is_own(&host) || was_reported(gate, c))
		return;
	fake_ip_resolve(gate->pool, &host);
	gate_report(gate, &(struct refusal){
		.kind = VIOLATION_NET_CONNECT, .op = "UDP", .host = &host,
		.reason = reason,
		/* The report appends the command. The gate puts secrets in; the jail has none. */
		.fix = gate->secrets ? "UDP needs --net jail, which does not go with --secret"
				     : "cloche run --net jail -- ",
		.datagram = c,
	}, NULL);
}

void udp_refusal_report(struct gate *gate, int fd)
{
	uint8_t in[ICMP_READ_MAX];
	struct listener_client client;

	for (int i = 0; i < MESSAGES_MAX; i++) {
		const ssize_t got = recv(fd, in, sizeof(in), MSG_DONTWAIT);

		if (got < 0 && errno != EINTR)
			return;
		if (got > 0 && icmp_refused(in, (size_t)got, &client))
			udp_refusal_report_one(gate, &client,
					       "UDP is not passed on, only TCP");
	}
}
