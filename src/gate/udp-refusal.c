/* SPDX-License-Identifier: Apache-2.0 */
/* net/unreached.c - datagrams that nobody takes have a record, too
 *
 * Only DNS is served by datagram. Any other one is refused by the kernel, since
 * nobody in the namespace has that port; it tells the sender at once, and us.
 */

#include "net/unreached.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/gate-state.h"
#include "net/icmp.h"
#include "net/pool.h"
#include "plan/listener.h"
#include "policy/host.h"

enum {
	MESSAGES_MAX = 64,	/* Before others have their turn */
	TOLD_MAX = 32,		/* Destinations that are remembered */
};

/**
 * struct unreached - Destinations that were told, the oldest overwritten
 */
struct unreached {
	struct { uint8_t to[16]; uint16_t port; } v[TOLD_MAX];
	size_t next;
};

static bool was_told(struct gate *gate, const struct listener_client *c)
{
	struct unreached *u;
	size_t i = 0;

	if (!gate->unreached)
		gate->unreached = mem_zalloc(sizeof(*gate->unreached));
	u = gate->unreached;
	while (i < TOLD_MAX && i < u->next &&
	       (u->v[i].port != c->to_port ||
		memcmp(u->v[i].to, c->to, sizeof(c->to)) != 0))
		i++;
	if (i < TOLD_MAX && i < u->next)
		return true;
	i = u->next++ % TOLD_MAX;
	memcpy(u->v[i].to, c->to, sizeof(c->to));
	u->v[i].port = c->to_port;
	return false;
}

/* A port of the command's own that is closed is closed without us as well */
static bool is_own(const struct listener_client *c)
{
	static const uint8_t own4[4] = LISTENER_OWN_IPV4;
	static const uint8_t own6[16] = LISTENER_OWN_IPV6;
	static const uint8_t one[16] = { [15] = 1 };

	if (c->family == 4)
		return c->to[0] == 127 || !memcmp(c->to, own4, sizeof(own4));
	return !memcmp(c->to, one, sizeof(one)) ||
	       !memcmp(c->to, own6, sizeof(own6));
}

static void tell(struct gate *gate, const struct listener_client *c)
{
	struct host host;

	if (is_own(c) || was_told(gate, c))
		return;
	host_of_address(c->to, c->family == 4 ? 4 : 16, c->to_port, &host);
	pool_resolve(gate->pool, &host);
	gate_report(gate, &(struct refusal){
		.kind = VIOLATION_NET_CONNECT, .op = "UDP", .host = &host,
		.reason = "UDP is not passed on, only TCP",
		.fix = "let the program use TCP; --net jail carries UDP",
		.datagram = c,
	}, NULL);
}

void unreached_tell(struct gate *gate, int fd)
{
	uint8_t in[ICMP_READ_MAX];
	struct listener_client client;

	for (int i = 0; i < MESSAGES_MAX; i++) {
		const ssize_t got = recv(fd, in, sizeof(in), MSG_DONTWAIT);

		if (got < 0 && errno != EINTR)
			return;
		if (got > 0 && icmp_refused(in, (size_t)got, &client))
			tell(gate, &client);
	}
}
