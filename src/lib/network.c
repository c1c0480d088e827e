/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/network.c - a run's network: gate, ports on demand, questions
 *
 * Ports on demand: a connect() to a port that nobody captures yet gets its
 * listener just before it goes on. Nothing is granted by that: the gate
 * decides about the connection as about any other. A destination that nobody
 * connected to for a while gives its listener up when another comes, so they
 * are few, and the port can be a server's; when there are too many, the one
 * that waited longest goes.
 *
 * In the landlock tier there is nothing to listen in: a connection to the
 * proxies is made on the command's behalf (lib/proxies.h), any other is
 * refused here and again by Landlock.
 */

#include "lib/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "cage/jail.h"
#include "cage/netkeeper.h"
#include "cage/netns.h"
#include "lib/asker.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "lib/proxies.h"
#include "lib/session.h"
#include "lib/who.h"
#include "net/gatekeeper.h"
#include "plan/listener.h"
#include "plan/plan.h"
#include "policy/policy.h"

enum {
	ON_DEMAND_MAX = 256,		/* Destinations captured on demand */
	ON_DEMAND_IDLE_MS = 60000,	/* Without a connect() to it */
	PUBLISHED_MAX = 64,		/* Ports of servers that came up inside */
	LOOKS_MAX = 50,			/* Refusals in a second that get a pid */
};

/**
 * struct destination - One that is captured
 * @id:		The gate's name for its listener
 * @used_ms:	When somebody last connected to it
 */
struct destination {
	struct sockaddr_in6 address;
	uint32_t id;
	int64_t used_ms;
};

struct port_list {
	uint16_t *v;
	size_t len, cap;
};

/**
 * struct network_run - One run's network
 * @options:	Whom to tell
 * @asker:	Whom questions go to
 * @fixed:	Ports that are captured for every address, from the start
 * @nobodys:	Those of them that are nothing on the sandbox's own loopback
 * @captured:	Destinations that were captured on demand
 * @published:	Ports that are the host's as well, or could not be
 * @keeper:	Listens inside for us; NULL until it is needed
 * @no_keeper:	It could not be had
 * @init:	Process 1 of the sandbox, as seen from here
 * @last_seen:	Who was refused last
 * @looks_since, @looks: When, and how often in that second, we looked for one
 * @proxies:	In the landlock tier; 0 otherwise
 * @sink:	For what is refused here
 */
struct network_run {
	const struct options *options;
	struct gatekeeper *gate;
	struct asker *asker;
	int user, net, jail[2];
	struct port_list fixed, nobodys, published;
	struct { struct destination *v; size_t len, cap; } captured;
	uint32_t last_id;
	struct netkeeper *keeper;
	bool no_keeper;
	pid_t init, last_seen;
	int64_t looks_since;
	unsigned int looks;
	struct network_proxies proxies;
	const struct violation_sink *sink;
};

static void on_gone(void *arg, const char *why)
{
	const struct network_run *n = arg;

	hooks_say(n->options, "%s", why);
}

static void on_ask(void *arg, uint32_t id, const struct host *host, pid_t pid)
{
	struct network_run *n = arg;

	asker_ask(n->asker, id, host, pid);
}

static bool has_keeper(struct network_run *n)
{
	if (!n->keeper && !n->no_keeper &&
	    netkeeper_start(n->user, n->net, &n->keeper, NULL) < 0)
		n->no_keeper = true;
	return n->keeper != NULL;
}

/* Whose socket a refusal was about. Not free, and not worth more than a part
 * of our time: in a flood the first ones tell.
 */
static pid_t on_who(void *arg, const struct listener_client *client)
{
	struct network_run *n = arg;
	const int64_t now = now_ms(CLOCK_MONOTONIC_COARSE);
	uint64_t inode;

	if (now - n->looks_since > 1000) {
		n->looks_since = now;
		n->looks = 0;
	}
	if (n->looks++ >= LOOKS_MAX)
		return 0;
	if (n->proxies.http)	/* The sandbox's network is ours */
		inode = netns_inode(client);
	else
		inode = has_keeper(n) ? netkeeper_inode(n->keeper, client) : 0;
	if (inode)
		n->last_seen = who_has(n->init, inode, n->last_seen);
	return inode ? n->last_seen : 0;
}

static void on_answer(void *arg, uint32_t id, bool allow,
		      enum ask_scope scope)
{
	struct network_run *n = arg;

	if (n->gate)
		gatekeeper_answer(n->gate, id, allow, scope);
}

static void on_reload(void *arg, struct policy *policy)
{
	struct network_run *n = arg;
	struct err err = { 0 };

	if (network_reload(n, policy, &err) < 0)
		hooks_say(n->options, "%s", err.msg);
}

static void remember_ports(struct network_run *n,
			   const struct listener_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		if (set->v[i].role != LISTENER_DNS_UDP && set->v[i].port)
			*vec_push(&n->fixed) = set->v[i].port;
		if (set->v[i].role == LISTENER_CAPTURE)
			*vec_push(&n->nobodys) = set->v[i].port;
	}
}

static int publish(struct network_run *n, const struct plan *plan,
		   struct err *err)
{
	const struct network_ports *ports = &plan->network.publish;
	int r = 0;

	for (size_t i = 0; !r && i < ports->len; i++) {
		r = gatekeeper_publish(n->gate, ports->v[i], err);
		*vec_push(&n->published) = ports->v[i];
	}
	return r;
}

int network_start(const struct network_config *config,
		  struct network_run **ret, struct err *err)
{
	struct network_run *n = mem_zalloc(sizeof(*n));
	struct gatekeeper_config keeper = {
		.policy = config->session->policy, .sink = *config->sink,
		.gone = on_gone, .who = on_who, .arg = n,
		.known_peers = config->session->plan->tier != TIER_FULL,
		.jail = config->jail ? n->jail : NULL,
	};
	int r;

	if (config->jail) {
		n->jail[0] = config->jail->user;
		n->jail[1] = config->jail->net;
	}
	n->options = config->options;
	n->user = config->user;
	n->net = config->net;
	n->init = config->init;
	n->proxies = config->session->plan->proxies;
	n->sink = config->sink;
	remember_ports(n, config->listeners);
	r = asker_new(&(struct asker_config){
		.loop = config->loop, .session = config->session,
		.options = config->options, .answer = on_answer,
		.reload = on_reload, .arg = n,
	}, &n->asker, err);
	if (!r) {
		keeper.ask = asker_can_ask(n->asker) ? on_ask : NULL;
		r = gatekeeper_new(config->loop, &keeper, config->listeners,
				   &n->gate, err);
	}
	if (!r)
		r = publish(n, config->session->plan, err);
	if (r < 0) {
		network_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void network_command_runs(struct network_run *n)
{
	if (n && n->gate)
		gatekeeper_start_early(n->gate);
}

void network_finish(struct network_run *n)
{
	if (!n)
		return;
	gatekeeper_finish(n->gate);
	gatekeeper_free(n->gate);
	n->gate = NULL;
	netkeeper_stop(n->keeper);
	n->keeper = NULL;
	asker_free(n->asker);
	n->asker = NULL;
}

void network_free(struct network_run *n)
{
	if (!n)
		return;
	network_finish(n);
	free(n->fixed.v);
	free(n->nobodys.v);
	free(n->captured.v);
	free(n->published.v);
	free(n);
}

int network_reload(struct network_run *n, struct policy *policy,
		   struct err *err)
{
	return n && n->gate ? gatekeeper_reload(n->gate, policy, err) : 0;
}

/* The destination in one form for both families. False if it is none that
 * could be captured: loopback, unspecified, or not an address.
 */
static bool normalise(const struct sockaddr *sa, socklen_t len,
		      struct sockaddr_in6 *ret)
{
	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const void *)sa;

		ret->sin6_port = in->sin_port;
		ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
		memcpy(ret->sin6_addr.s6_addr + 12, &in->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6 &&
		   len >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		ret->sin6_port = in6->sin6_port;
		ret->sin6_addr = in6->sin6_addr;
	} else {
		return false;
	}
	if (IN6_IS_ADDR_V4MAPPED(&ret->sin6_addr))
		return ret->sin6_addr.s6_addr[12] != 127 &&
		       ret->sin6_addr.s6_addr[12] != 0;
	return !IN6_IS_ADDR_LOOPBACK(&ret->sin6_addr) &&
	       !IN6_IS_ADDR_UNSPECIFIED(&ret->sin6_addr);
}

static void release(struct network_run *n, size_t i)
{
	gatekeeper_remove(n->gate, n->captured.v[i].id);
	n->captured.v[i] = n->captured.v[--n->captured.len];
}

/* Let go of what is not used, and of the least used if that is not enough */
static void make_room(struct network_run *n)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC_COARSE);
	size_t oldest = 0;

	for (size_t i = n->captured.len; i-- > 0;) {
		if (now - n->captured.v[i].used_ms > ON_DEMAND_IDLE_MS)
			release(n, i);
	}
	if (n->captured.len < ON_DEMAND_MAX)
		return;
	for (size_t i = 1; i < n->captured.len; i++) {
		if (n->captured.v[i].used_ms < n->captured.v[oldest].used_ms)
			oldest = i;
	}
	release(n, oldest);
}

static bool has_port(const struct port_list *list,
		     const struct sockaddr_in6 *a)
{
	for (size_t i = 0; i < list->len; i++) {
		if (htons(list->v[i]) == a->sin6_port)
			return true;
	}
	return false;
}

/* What it looks at does not change after the start */
bool network_serves(const struct network_run *n, const struct sockaddr *address,
		    socklen_t len)
{
	struct sockaddr_in6 a;

	return !n->proxies.http && (normalise(address, len, &a)
				    ? has_port(&n->fixed, &a)
				    : !has_port(&n->nobodys, &a));
}

static bool is_captured(struct network_run *n, const struct sockaddr_in6 *a)
{
	if (has_port(&n->fixed, a))
		return true;
	for (size_t i = 0; i < n->captured.len; i++) {
		if (memcmp(&n->captured.v[i].address, a, sizeof(*a)) != 0)
			continue;
		n->captured.v[i].used_ms = now_ms(CLOCK_MONOTONIC_COARSE);
		return true;
	}
	return false;
}

static bool is_stream(int sock)
{
	int type = SOCK_STREAM;
	socklen_t len = sizeof(type);

	return sock < 0 || getsockopt(sock, SOL_SOCKET, SO_TYPE, &type,
				      &len) < 0 || type == SOCK_STREAM;
}

/* An IPv4 destination gets an IPv4 listener: the program may use the same port
 * for a server of its own on the other family
 */
static int listen_for(struct network_run *n, const struct sockaddr_in6 *a)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = a->sin6_port,
	};

	if (!IN6_IS_ADDR_V4MAPPED(&a->sin6_addr))
		return netkeeper_listen(n->keeper, (const struct sockaddr *)a,
					sizeof(*a));
	memcpy(&four.sin_addr, a->sin6_addr.s6_addr + 12, 4);
	return netkeeper_listen(n->keeper, (const struct sockaddr *)&four,
				sizeof(four));
}

static int expect(void *arg, uint16_t port)
{
	struct network_run *n = arg;

	return n->gate ? gatekeeper_expect(n->gate, port) : -ECONNREFUSED;
}

static void report_direct(const struct network_run *n,
			  const struct sockaddr *address, socklen_t len)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct violation v = {
		.kind = VIOLATION_NET_CONNECT, .error = EACCES, .count = 1,
	};

	if (getnameinfo(address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	v.op = mem_strdup("connect");
	v.target = mem_printf(address->sa_family == AF_INET6 ? "[%s]:%s"
							     : "%s:%s",
			      host, port);
	v.reason = mem_strdup("tier landlock has no direct connections");
	v.suggest_edit = mem_strdup("let the program use $HTTPS_PROXY or $ALL_PROXY");
	violation_report(n->sink, &v);
	violation_done(&v);
}

/* On the command's behalf, or not at all */
static int connect_for(struct network_run *n, const struct sockaddr *address,
		       socklen_t len, int sock)
{
	const int r = proxies_connect(&n->proxies, address, len, sock, expect,
				      n);

	if (r == -EACCES)
		report_direct(n, address, len);
	return r;
}

bool network_wants(struct network_run *n, const struct sockaddr *address,
		   socklen_t len)
{
	struct sockaddr_in6 a;

	if (n->proxies.http || !n->gate)
		return n->proxies.http;
	return normalise(address, len, &a) ? a.sin6_port && !is_captured(n, &a)
					   : has_port(&n->nobodys, &a);
}

int network_connect(void *arg, const struct sockaddr *address, socklen_t len,
		    int sock)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;
	int fd;

	if (n->proxies.http)
		return connect_for(n, address, len, sock);
	if (!network_wants(n, address, len) || !is_stream(sock))
		return 0;
	/* It would be accepted, and then reset */
	if (!normalise(address, len, &a))
		return -ECONNREFUSED;
	if (!has_keeper(n))
		return 0;
	make_room(n);
	fd = listen_for(n, &a);
	if (fd < 0)	/* The program's own server, perhaps */
		return 0;
	n->last_id++;
	if (gatekeeper_add(n->gate, &(struct gatekeeper_listener){
			LISTENER_CAPTURE, ntohs(a.sin6_port), n->last_id,
	    }, fd) == 0)
		*vec_push(&n->captured) = (struct destination){
			a, n->last_id, now_ms(CLOCK_MONOTONIC_COARSE),
		};
	return 0;
}

/* The port that a stream socket is bound to, or 0 */
static uint16_t port_of(int sock)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);

	if (getsockname(sock, (struct sockaddr *)&sa, &len) < 0)
		return 0;
	/* Both families have it in the same place */
	return sa.ss_family == AF_INET || sa.ss_family == AF_INET6
		       ? ntohs(((const struct sockaddr_in *)&sa)->sin_port) : 0;
}

void network_listen(struct network_run *n, int sock)
{
	const uint16_t port = port_of(sock);
	struct err err = { 0 };

	if (!n->gate || !port || n->published.len == PUBLISHED_MAX)
		return;
	for (size_t i = 0; i < n->published.len; i++) {
		if (n->published.v[i] == port)
			return;
	}
	*vec_push(&n->published) = port;
	if (gatekeeper_publish(n->gate, port, &err) < 0)
		hooks_say(n->options, "the command's port %u is not reachable from the host: %s",
			  port, err.msg);
}
