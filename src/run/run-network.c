/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/network.c - a run's network: the gate, and what the observer asks
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
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "cage/jail.h"
#include "cage/netkeeper.h"
#include "cage/netns.h"
#include "lib/asker.h"
#include "lib/demand.h"
#include "lib/hooks.h"
#include "lib/local.h"
#include "lib/options.h"
#include "lib/proxies.h"
#include "lib/session.h"
#include "lib/who.h"
#include "net/gatekeeper.h"
#include "net/pool.h"
#include "plan/listener.h"
#include "plan/plan.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "watch/observer.h"

enum {
	PUBLISHED_MAX = 64,		/* Ports of servers that came up inside */
	SERVER_S = 2,			/* What serves for so long is a server */
	EPHEMERAL = 32768,		/* Ports from here on are chosen by nobody */
	LOOKS_MS = 100,			/* Of a second, to find who was refused */
};

struct port_list {
	uint16_t *v;
	size_t len, cap;
};

/**
 * struct network_run - One run's network
 * @options:	Whom to tell
 * @policy:	What the gate goes by, referenced
 * @project:	Where the command runs, or NULL
 * @mode:	Where there is no gate: why
 * @asker:	Whom questions go to
 * @fixed:	Ports that are captured for every address, from the start
 * @nobodys:	Those of them that are nothing on the sandbox's own loopback
 * @demand:	Destinations that were captured on demand
 * @published:	Ports that are the host's as well, or could not be
 * @server:	One that is not, and that nobody was told of yet; or 0
 * @timer:	When to tell
 * @publish_any: All that a server inside listens on are
 * @local:	What was tried at the sandbox's own localhost
 * @keeper:	Listens inside for us; NULL until it is needed
 * @no_keeper:	It could not be had
 * @init:	Process 1 of the sandbox, as seen from here
 * @last_seen:	Who was refused last
 * @looks_since, @looks_ms: When, and how long in that second, we looked for one
 * @proxies:	In the landlock tier; 0 otherwise
 * @sink:	For what is refused here
 */
struct network_run {
	const struct options *options;
	struct policy *policy;
	const char *project;
	enum net_mode mode;
	struct gatekeeper *gate;
	struct asker *asker;
	int user, net, jail[2];
	struct port_list fixed, nobodys, published;
	struct demand demand;
	struct local local;
	uint16_t server;
	struct loop *loop;
	struct loop_source timer;
	struct netkeeper *keeper;
	bool no_keeper, publish_any;
	pid_t init, last_seen;
	int64_t looks_since, looks_ms;
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

static uint64_t inode_of(struct network_run *n,
			 const struct listener_client *client)
{
	if (n->proxies.http)	/* The sandbox's network is ours */
		return netns_inode(client);
	return has_keeper(n) ? netkeeper_inode(n->keeper, client) : 0;
}

/* Whose socket a refusal was about: @client's, or @inode. Not free, and not worth
 * more than a part of our time, or a command could put its own time limit off: in
 * a flood the first ones tell.
 */
static pid_t look_for(struct network_run *n,
		      const struct listener_client *client, uint64_t inode)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	pid_t pid = 0;

	if (now - n->looks_since > 1000) {
		n->looks_since = now;
		n->looks_ms = 0;
	}
	if (n->looks_ms >= LOOKS_MS)
		return 0;
	if (client)
		inode = inode_of(n, client);
	if (inode)
		pid = n->last_seen = who_has(n->init, inode, n->last_seen);
	n->looks_ms += now_ms(CLOCK_MONOTONIC) - now;
	return pid;
}

static pid_t on_who(void *arg, const struct listener_client *client)
{
	return look_for(arg, client, 0);
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
	n->loop = config->loop;
	n->timer.fd = -1;
	n->user = config->user;
	n->net = config->net;
	n->init = config->init;
	n->proxies = config->session->plan->proxies;
	n->sink = config->sink;
	n->publish_any = config->session->plan->network.publish_any;
	n->mode = config->session->plan->net;
	n->project = config->session->policy->project;
	*ret = n;
	if (!config->listeners)
		return 0;
	n->policy = policy_ref(config->session->policy);
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
		*ret = NULL;
	}
	return r;
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

void network_explain(const struct network_run *n)
{
	if (n)
		local_report(&n->local, n->project, n->sink);
}

void network_free(struct network_run *n)
{
	if (!n)
		return;
	network_finish(n);
	if (n->timer.fd >= 0)
		loop_remove(n->loop, &n->timer);
	close_fd(&n->timer.fd);
	policy_unref(n->policy);
	free(n->fixed.v);
	free(n->nobodys.v);
	demand_done(&n->demand);
	free(n->published.v);
	free(n);
}

int network_reload(struct network_run *n, struct policy *policy,
		   struct err *err)
{
	if (!n || !n->gate)
		return 0;
	policy_unref(n->policy);
	n->policy = policy_ref(policy);
	return gatekeeper_reload(n->gate, policy, err);
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

/* Somebody looks for a server at the sandbox's own localhost, @a: true if that can be
 * one, or is ours
 */
static bool is_local(struct network_run *n, const struct sockaddr_in6 *a)
{
	const bool nobodys = has_port(&n->nobodys, a);

	if (nobodys || !has_port(&n->fixed, a))
		local_tried(&n->local, a->sin6_port);
	return !nobodys;
}

/* What it looks at does not change after the start */
static bool is_served(void *arg, const struct sockaddr *address, socklen_t len)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;

	return !n->proxies.http && !local_is_away(address, len, &a) &&
	       is_local(n, &a);
}

static bool is_stream(int sock)
{
	int type = SOCK_STREAM;
	socklen_t len = sizeof(type);

	return sock < 0 || getsockopt(sock, SOL_SOCKET, SO_TYPE, &type,
				      &len) < 0 || type == SOCK_STREAM;
}

static int expect(void *arg, uint16_t port)
{
	struct network_run *n = arg;

	return n->gate ? gatekeeper_expect(n->gate, port) : -ECONNREFUSED;
}

/* A connect() that fails with @error. @fix: what to do, or NULL: to allow the
 * address.
 */
static void report_connect(struct network_run *n,
			   const struct sockaddr *address, socklen_t len,
			   int sock, int error, const char *reason,
			   const char *fix)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct violation v = {
		.kind = VIOLATION_NET_CONNECT, .error = error, .count = 1,
	};
	struct stat st;

	if (getnameinfo(address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	if (sock >= 0 && fstat(sock, &st) == 0)
		v.pid = look_for(n, NULL, st.st_ino);
	v.op = mem_strdup(is_stream(sock) ? "connect" : "UDP");
	v.target = mem_printf(address->sa_family == AF_INET6 ? "[%s]:%s"
							     : "%s:%s",
			      host, port);
	v.reason = mem_strdup(reason);
	v.rule_key = mem_strdup("sandbox.network.allowedDomains");
	v.suggest_edit = fix ? mem_strdup(fix) : NULL;
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
		report_connect(n, address, len, sock, EACCES,
			       "tier landlock has no direct connections",
			       "let the program use $HTTPS_PROXY or $ALL_PROXY");
	return r;
}

/* The reason for which the gate would accept a connection to @a and then reset it,
 * or NULL. What a made-up address stands for, only the gate knows.
 */
static const char *is_refused(const struct network_run *n,
			      const struct sockaddr_in6 *a)
{
	const bool four = IN6_IS_ADDR_V4MAPPED(&a->sin6_addr);
	struct host_verdict verdict;
	struct host host;

	host_of_address(a->sin6_addr.s6_addr + (four ? 12 : 0), four ? 4 : 16,
			ntohs(a->sin6_port), &host);
	if (!a->sin6_port || pool_covers(&host))
		return NULL;
	verdict = host_decide(n->policy, &host, asker_can_ask(n->asker));
	return verdict.decision == HOST_DENIED ? verdict.reason : NULL;
}

static bool wants_connect(void *arg, const struct sockaddr *address,
			  socklen_t len)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;

	if (n->proxies.http || !n->gate)
		return n->proxies.http;
	if (!local_is_away(address, len, &a))
		return !is_local(n, &a);
	return is_refused(n, &a) ||
	       (a.sin6_port && !has_port(&n->fixed, &a) &&
		!demand_has(&n->demand, &a));
}

/* 0: whether it may is the gate's to say, unless it is about an address that it will
 * refuse. In the landlock tier it is made here: 1, or a negative errno.
 */
static int on_connect(void *arg, const struct sockaddr *address, socklen_t len,
		      int sock)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;
	const char *reason;

	if (n->proxies.http)
		return connect_for(n, address, len, sock);
	if (!wants_connect(n, address, len) || !is_stream(sock))
		return 0;
	/* It would be accepted, and then reset */
	if (!local_is_away(address, len, &a))
		return -ECONNREFUSED;
	reason = is_refused(n, &a);
	if (reason) {
		report_connect(n, address, len, sock, EACCES, reason, NULL);
		return -EACCES;
	}
	if (has_keeper(n))
		demand_add(&n->demand, n->gate, n->keeper, &a);
	return 0;
}

/* The kernel had no way there, and that is our doing */
static void on_unreached(void *arg, const struct sockaddr *address,
			 socklen_t len, int sock, int error)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;

	if (n->gate || !local_is_away(address, len, &a))
		return;
	if (n->mode == NET_NONE)
		report_connect(n, address, len, sock, error,
			       a.sin6_port == htons(53) && !is_stream(sock) ?
			       "names cannot be looked up: the run has no network" :
			       "the run has no network",
			       "leave out --net none");
	else if (n->mode == NET_JAIL)
		report_connect(n, address, len, sock, error,
			       "the jail has no route there",
			       "--allow-ip with that address");
}

static bool is_held(void *arg, const struct sockaddr *address, socklen_t len)
{
	const struct network_run *n = arg;
	struct sockaddr_in6 a;

	(void)local_is_away(address, len, &a);
	return demand_is_in_the_way(&n->demand, &a);
}

/* A server of the command's own is served first */
static void on_bind(void *arg, const struct sockaddr *address, socklen_t len)
{
	struct network_run *n = arg;
	struct sockaddr_in6 a;

	(void)local_is_away(address, len, &a);
	if (n->gate)
		demand_yield(&n->demand, n->gate, &a);
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

/* A server that stays up is probably for somebody outside */
static int on_server(void *arg, uint32_t events)
{
	struct network_run *n = arg;

	(void)events;
	loop_remove(n->loop, &n->timer);
	close_fd(&n->timer.fd);
	hooks_say(n->options, "port %u is served inside the sandbox only; to reach it from the host: cloche run --publish %u",
		  n->server, n->server);
	return 0;
}

/* Tell once, on a terminal or with -v, of the first server that is not published */
static void expect_server(struct network_run *n, uint16_t port)
{
	const struct itimerspec when = { .it_value.tv_sec = SERVER_S };

	if (n->server || port < 1 || port >= EPHEMERAL || n->proxies.http ||
	    options_has(n->options, OPTION_QUIET) ||
	    (!isatty(STDERR_FILENO) &&
	     !options_has(n->options, OPTION_VERBOSE)))
		return;
	for (size_t i = 0; i < n->published.len; i++) {
		if (n->published.v[i] == port)
			return;
	}
	n->server = port;
	n->timer = (struct loop_source){
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		on_server, n,
	};
	if (n->timer.fd < 0 || timerfd_settime(n->timer.fd, 0, &when, NULL) < 0 ||
	    loop_add(n->loop, &n->timer, EPOLLIN) < 0)
		close_fd(&n->timer.fd);
}

/* Publish its port on the host, if the policy says so for any port */
static void on_listen(void *arg, int sock)
{
	struct network_run *n = arg;
	const uint16_t port = port_of(sock);
	struct err err = { 0 };

	local_served(&n->local, htons(port));
	if (!n->publish_any)
		expect_server(n, port);
	if (!n->publish_any || !n->gate || !port ||
	    n->published.len == PUBLISHED_MAX)
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

void network_questions(struct network_run *n, struct observer_network *ret)
{
	*ret = (struct observer_network){
		.arg = n, .connect = on_connect, .wants_connect = wants_connect,
		.is_served = is_served, .is_held = is_held, .bind = on_bind,
		.listen = on_listen, .unreached = on_unreached,
	};
}
