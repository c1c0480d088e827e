/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/run-network.c - a run's network: the gate, and what the observer asks
 *
 * In the landlock tier there is nothing to listen in: a connection to the
 * proxies is made on the command's behalf (run/landlock-proxies.h), any other is
 * refused here and again by Landlock.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/fake-ip.h"
#include "gate/gate-client.h"
#include "ipc/listener.h"
#include "plan/plan.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "run/landlock-proxies.h"
#include "run/localhost-hint.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run-secrets.h"
#include "run/run.h"
#include "run/socket-owner.h"
#include "sandbox/netns-helper.h"
#include "sandbox/netns.h"

enum {
	CAPTURED_MAX = 256,		/* Destinations; then the least used goes */
	PUBLISHED_MAX = 64,		/* Ports of servers that came up inside */
	SERVER_MS = 2000,		/* What serves for so long is a server */
	EPHEMERAL = 32768,		/* From here on the kernel chooses ports */
	LOOKS_MS = 100,			/* Of a second, to find the process that was refused */
};

/**
 * struct destination - A destination that is captured on demand
 * @id:		The gate's name for its listener
 * @listener:	The same, here; or -1
 * @used_ms:	Time of the last connect() to it
 *
 * A connect() to a port that is not captured gets its listener just before it goes
 * on; the gate decides about the connection as about any other. A server inside that
 * binds to the port gets it at once: the gate closes its copy later, but shutdown()
 * here ends the listening for both.
 */
struct destination {
	struct sockaddr_in6 address;
	uint32_t id;
	int listener;
	int64_t used_ms;
};

struct port_list {
	uint16_t *v;
	size_t len, cap;
};

/**
 * struct run_network - One run's network
 * @policy:	What the gate goes by, referenced
 * @asker:	Prompts for hosts
 * @jail:	The namespaces that the gate dials from
 * @fixed:	Ports that are captured for every address, from the start
 * @unserved:	Those of them that nothing serves on the sandbox's own loopback
 * @captured:	Destinations that were captured on demand; @ncaptured is their
 *		number, for other threads
 * @published:	Ports that are the host's as well, or could not be
 * @server:	One that is not, and was not reported yet; or 0
 * @timer:	When to tell
 * @local:	What was tried at the sandbox's own localhost
 * @helper:	Listens inside for us; PROC_NONE until it is needed
 * @no_helper:	It could not be had
 * @last_seen:	The process that was refused last
 * @looks_since, @looks_ms: When, and how long in that second, we looked for one
 */
struct run_network {
	struct run *run;
	struct policy *policy;
	struct gate_client *gate;
	int jail[2];
	struct port_list fixed, unserved, published;
	struct { struct destination *v; size_t len, cap; } captured;
	_Atomic size_t ncaptured;
	uint32_t last_id;
	struct localhost_hint local;
	uint16_t server;
	struct loop_source timer;
	struct proc helper;
	bool no_helper;
	pid_t last_seen;
	int64_t looks_since, looks_ms;
};

static void release_port(struct run_network *n, size_t i)
{
	struct destination *d = &n->captured.v[i];

	if (d->listener >= 0)
		(void)shutdown(d->listener, SHUT_RDWR);
	close_fd(&d->listener);
	gate_client_remove(n->gate, d->id);
	*d = n->captured.v[--n->captured.len];
	n->ncaptured = n->captured.len;
}

static void drop_least_used(struct run_network *n)
{
	size_t oldest = 0;

	if (n->captured.len < CAPTURED_MAX)
		return;
	for (size_t i = 1; i < n->captured.len; i++) {
		if (n->captured.v[i].used_ms < n->captured.v[oldest].used_ms)
			oldest = i;
	}
	release_port(n, oldest);
}

/* True if @a is captured, which counts as a use */
static bool is_captured(struct run_network *n, const struct sockaddr_in6 *a)
{
	for (size_t i = 0; i < n->captured.len; i++) {
		if (memcmp(&n->captured.v[i].address, a, sizeof(*a)) != 0)
			continue;
		n->captured.v[i].used_ms = now_ms(CLOCK_MONOTONIC_COARSE);
		return true;
	}
	return false;
}

/* An IPv4 destination gets an IPv4 listener: the program may use the same port
 * for a server of its own on the other family
 */
static int listen_for(const struct proc *helper, const struct sockaddr_in6 *a)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = a->sin6_port,
	};

	if (!IN6_IS_ADDR_V4MAPPED(&a->sin6_addr))
		return netns_helper_listen(helper, (const struct sockaddr *)a,
					sizeof(*a));
	memcpy(&four.sin_addr, a->sin6_addr.s6_addr + 12, 4);
	return netns_helper_listen(helper, (const struct sockaddr *)&four,
				sizeof(four));
}

/* Capture @a, if that can be done: a server inside may have it */
static void capture(struct run_network *n, const struct sockaddr_in6 *a)
{
	auto_close int copy = -1;
	int fd;

	drop_least_used(n);
	fd = listen_for(&n->helper, a);
	if (fd < 0)	/* The program's own server, perhaps */
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (gate_client_add(n->gate, LISTENER_CAPTURE, ntohs(a->sin6_port),
			    ++n->last_id, fd) == 0)
		*vec_push(&n->captured) = (struct destination){
			*a, n->last_id, take_fd(&copy),
			now_ms(CLOCK_MONOTONIC_COARSE),
		};
	n->ncaptured = n->captured.len;
}

/* The command's connections are made here: it has no network of its own */
static bool in_landlock_tier(const struct run_network *n)
{
	return n->run->decision.plan->proxies.http != 0;
}

static void on_used(void *arg, const char *text, size_t n)
{
	const struct run_network *network = arg;

	run_secrets_used(network->run->decision.secrets, text, n);
}

static void on_hosts(void *arg, const char *text, size_t n)
{
	const struct run_network *network = arg;

	free(network->run->hosts);
	network->run->hosts = mem_strndup(text, n);
}

static void on_gone(void *arg, const char *why)
{
	const struct run_network *n = arg;

	output_say(n->run->output, "%s", why);
}

static void on_ask(void *arg, uint32_t id, const struct host *host, pid_t pid)
{
	struct run_network *n = arg;

	prompt_ask(n->run->prompt, id, host, pid);
}

static bool has_helper(struct run_network *n)
{
	if (n->helper.pid <= 0 && !n->no_helper &&
	    netns_helper_start(n->run->own[0], n->run->own[2], &n->helper,
			       NULL) < 0)
		n->no_helper = true;
	return n->helper.pid > 0;
}

static uint64_t inode_of(struct run_network *n,
			 const struct listener_client *client)
{
	if (in_landlock_tier(n))	/* The sandbox's network is ours */
		return netns_inode(client);
	return has_helper(n) ? netns_helper_inode(&n->helper, client) : 0;
}

/* Whose socket a refusal was about: @client's, or @inode. Not free, and not worth
 * more than a part of our time, or a command could put its own time limit off: in
 * a flood the first ones tell. What counts is our own time: on a busy machine one
 * look may last longer than all that a flood is given.
 */
static pid_t look_for(struct run_network *n,
		      const struct listener_client *client, uint64_t inode)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	const int64_t used = now_ms(CLOCK_THREAD_CPUTIME_ID);
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
		pid = n->last_seen = socket_owner_find(n->run->sandbox.pid,
						     inode, n->last_seen);
	n->looks_ms += now_ms(CLOCK_THREAD_CPUTIME_ID) - used;
	return pid;
}

static pid_t on_who(void *arg, const struct listener_client *client)
{
	return look_for(arg, client, 0);
}

void run_network_answer(const struct run *run, uint32_t id, bool allow,
			enum ask_scope scope)
{
	if (run->network && run->network->gate)
		gate_client_answer(run->network->gate, id, allow, scope);
}

static void remember_ports(struct run_network *n,
			   const struct listener_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		if (set->v[i].role != LISTENER_DNS_UDP && set->v[i].port)
			*vec_push(&n->fixed) = set->v[i].port;
		if (set->v[i].role == LISTENER_CAPTURE)
			*vec_push(&n->unserved) = set->v[i].port;
	}
}

static int publish(struct run_network *n, const struct plan *plan,
		   struct err *err)
{
	const struct network_ports *ports = &plan->network.publish;
	int r = 0;

	for (size_t i = 0; !r && i < ports->len; i++) {
		r = gate_client_publish(n->gate, ports->v[i], err);
		*vec_push(&n->published) = ports->v[i];
	}
	return r;
}

int run_network_start(struct run *run, struct listener_set *listeners)
{
	struct run_network *n = run->network = mem_zalloc(sizeof(*n));
	struct gate_client_config config = {
		.policy = run->decision.policy,
		.sink = *monitor_sink(run->monitor),
		.gone = on_gone, .used = on_used, .hosts = on_hosts, .who = on_who, .arg = n,
		/* Announced ports are reached without the supervisor */
		.known_peers = run->decision.plan->tier != TIER_FULL &&
			       !run->announced,
		.jail = run->jail.net >= 0 ? n->jail : NULL,
		.secrets = run->decision.secrets ? &run->decision.secrets->bound
						 : NULL,
		.tls = run->decision.secrets ? run->decision.secrets->channel : -1,
	};
	int r;

	n->helper = PROC_NONE;
	n->run = run;
	n->timer.fd = -1;
	n->jail[0] = run->jail.user;
	n->jail[1] = run->jail.net;
	if (!listeners)
		return 0;
	n->policy = policy_ref(run->decision.policy);
	remember_ports(n, listeners);
	config.ask = prompt_can_ask(run->prompt) ? on_ask : NULL;
	if ((r = run_secrets_watch(run->decision.secrets, run->loop)) < 0)
		return r;
	r = gate_client_new(run->loop, &config, listeners, &n->gate, run->err);
	return r < 0 ? r : publish(n, run->decision.plan, run->err);
}

void run_network_command_runs(struct run_network *n)
{
	if (n && n->gate)
		gate_client_start_early(n->gate);
}

void run_network_finish(struct run_network *n)
{
	if (!n)
		return;
	gate_client_finish(n->gate);
	gate_client_free(n->gate);
	n->gate = NULL;
	proc_end(&n->helper, true);
}

void run_network_explain(const struct run_network *n)
{
	if (n)
		localhost_hint_report(&n->local, n->run->decision.policy->project,
				      monitor_sink(n->run->monitor));
}

void run_network_free(struct run_network *n)
{
	if (!n)
		return;
	run_network_finish(n);
	if (n->timer.fd >= 0)
		loop_remove(n->run->loop, &n->timer);
	close_fd(&n->timer.fd);
	policy_unref(n->policy);
	free(n->fixed.v);
	free(n->unserved.v);
	for (size_t i = 0; i < n->captured.len; i++)
		close_fd(&n->captured.v[i].listener);
	free(n->captured.v);
	free(n->published.v);
	free(n);
}

int run_network_reload(struct run_network *n, struct policy *policy,
		   struct err *err)
{
	if (!n || !n->gate)
		return 0;
	policy_unref(n->policy);
	n->policy = policy_ref(policy);
	return gate_client_reload(n->gate, policy, err);
}

/* @port in network order, as in a struct sockaddr_in6 */
static bool has_port(const struct port_list *list, in_port_t port)
{
	for (size_t i = 0; i < list->len; i++) {
		if (htons(list->v[i]) == port)
			return true;
	}
	return false;
}

/* A connect() to the sandbox's own localhost, @a: true if there can be
 * one, or is ours
 */
static bool is_local(struct run_network *n, const struct sockaddr_in6 *a)
{
	const bool unserved = has_port(&n->unserved, a->sin6_port);

	if (unserved || !has_port(&n->fixed, a->sin6_port))
		localhost_hint_tried(&n->local, a->sin6_port);
	return !unserved;
}

/* What it looks at does not change after the start */
static bool is_served(void *arg, const struct sockaddr *address, socklen_t len)
{
	struct run_network *n = arg;
	struct sockaddr_in6 a;

	return !in_landlock_tier(n) && !localhost_hint_is_away(address, len, &a) &&
	       is_local(n, &a);
}

static bool is_stream(int sock)
{
	const int type = sys_socket_option(sock, SO_TYPE);

	return type < 0 || type == SOCK_STREAM;
}

/* A connect() that fails with @error. @fix: what to do, perhaps a command of ours; NULL: to
 * allow the address.
 */
static void report_connect(struct run_network *n,
			   const struct sockaddr *address, socklen_t len,
			   int sock, int error, const char *reason,
			   const char *fix)
{
	char host[INET6_ADDRSTRLEN], port[8];
	auto_violation struct violation v = {
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
	if (fix && !strncmp(fix, "cloche ", 7))
		v.suggest_command = mem_strdup(fix);
	else if (fix)
		v.suggest_edit = mem_strdup(fix);
	violation_report(monitor_sink(n->run->monitor), &v);
}

/* On the command's behalf, or not at all */
static int connect_for(struct run_network *n, const struct sockaddr *address,
		       socklen_t len, int sock)
{
	const int r = landlock_proxies_connect(&n->run->decision.plan->proxies,
					       address, len, sock, n->gate);

	if (r == -EACCES)
		report_connect(n, address, len, sock, EACCES,
			       "tier landlock has no direct connections",
			       "let the program use $HTTPS_PROXY or $ALL_PROXY");
	return r;
}

/* The reason for which the gate would accept a connection to @a and then reset it,
 * or NULL. What a made-up address stands for, only the gate knows.
 */
static const char *is_refused(const struct run_network *n,
			      const struct sockaddr_in6 *a)
{
	const bool four = IN6_IS_ADDR_V4MAPPED(&a->sin6_addr);
	struct host_verdict verdict;
	struct host host;

	host_of_address(a->sin6_addr.s6_addr + (four ? 12 : 0), four ? 4 : 16,
			ntohs(a->sin6_port), &host);
	if (!a->sin6_port || fake_ip_covers(&host))
		return NULL;
	verdict = host_decide(n->policy, &host, prompt_can_ask(n->run->prompt));
	return verdict.decision == HOST_DENIED ? verdict.reason : NULL;
}

static bool wants_connect(void *arg, const struct sockaddr *address,
			  socklen_t len)
{
	struct run_network *n = arg;
	struct sockaddr_in6 a;

	if (in_landlock_tier(n) || !n->gate)
		return in_landlock_tier(n);
	if (!localhost_hint_is_away(address, len, &a))
		return !is_local(n, &a);
	return is_refused(n, &a) ||
	       (a.sin6_port && !has_port(&n->fixed, a.sin6_port) &&
		!is_captured(n, &a));
}

/* 0: whether it may is the gate's to say, unless it is about an address that it will
 * refuse. In the landlock tier it is made here: 1, or a negative errno.
 */
static int on_connect(void *arg, const struct sockaddr *address, socklen_t len,
		      int sock)
{
	struct run_network *n = arg;
	struct sockaddr_in6 a;
	const char *reason;

	if (in_landlock_tier(n))
		return connect_for(n, address, len, sock);
	if (!wants_connect(n, address, len) || !is_stream(sock))
		return 0;
	/* It would be accepted, and then reset */
	if (!localhost_hint_is_away(address, len, &a))
		return -ECONNREFUSED;
	reason = is_refused(n, &a);
	if (reason) {
		report_connect(n, address, len, sock, EACCES, reason, NULL);
		return -EACCES;
	}
	if (has_helper(n))
		capture(n, &a);
	return 0;
}

/* @a: the address, an IPv4 one mapped */
static void report_jail(struct run_network *n, const struct sockaddr *address,
			socklen_t len, int sock, int error, const struct sockaddr_in6 *a)
{
	const bool four = IN6_IS_ADDR_V4MAPPED(&a->sin6_addr);
	const struct jail_route *route;
	struct host host;
	auto_free char *fix = NULL;
	auto_free char *reason = NULL;

	host_of_address(a->sin6_addr.s6_addr + (four ? 12 : 0), four ? 4 : 16, 0, &host);
	route = jail_find(&n->run->decision.plan->jail, &host);
	if (!route && error == EINVAL)
		return;
	reason = mem_printf("the jail has no route there%s%s", route ? ": " : "",
			    route ? route->why : "");
	fix = mem_printf("cloche policy allow address %s", host.name);
	report_connect(n, address, len, sock, error, reason, fix);
}

/* The kernel had no way there, and that is our doing */
static void on_unreached(void *arg, const struct sockaddr *address,
			 socklen_t len, int sock, int error)
{
	struct run_network *n = arg;
	struct sockaddr_in6 a;

	if (n->gate || !localhost_hint_is_away(address, len, &a))
		return;
	if (n->run->decision.plan->net == NET_NONE && error != EINVAL)
		report_connect(n, address, len, sock, error,
			       a.sin6_port == htons(53) && !is_stream(sock) ?
			       "names cannot be looked up: the run has no network" :
			       "the run has no network",
			       "leave out --net none");
	else if (n->run->decision.plan->net == NET_JAIL)
		report_jail(n, address, len, sock, error, &a);
}

/* True if a server that binds to the address may find it taken; from any thread */
static bool may_be_taken(void *arg, const struct sockaddr *address, socklen_t len)
{
	const struct run_network *n = arg;
	struct sockaddr_in6 a;
	const struct in6_addr *ip = &a.sin6_addr;

	(void)localhost_hint_is_away(address, len, &a);
	return n->ncaptured && a.sin6_port && !IN6_IS_ADDR_LOOPBACK(ip) &&
	       !(IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
}

/* A server of the command's own is served first: release its port at once */
static void on_bind(void *arg, const struct sockaddr *address, socklen_t len)
{
	struct run_network *n = arg;
	struct sockaddr_in6 a;

	(void)localhost_hint_is_away(address, len, &a);
	for (size_t i = n->gate ? n->captured.len : 0; i-- > 0;) {
		if (n->captured.v[i].address.sin6_port == a.sin6_port)
			release_port(n, i);
	}
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

#define SERVED_INSIDE "port %u is served inside the sandbox only; --publish %u makes it reachable from the host"

/* The output goes to a file, and the user is at the terminal */
static void write_terminal(uint16_t port)
{
	auto_close int tty = open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	sigset_t stop, before;

	if (tty < 0)
		return;
	/* A background job may write all the same */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &stop, &before);
	(void)dprintf(tty, "cloche: " SERVED_INSIDE "\r\n", port, port);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A server that stays up is probably meant for clients outside */
static int on_server(void *arg)
{
	struct run_network *n = arg;

	loop_remove(n->run->loop, &n->timer);
	close_fd(&n->timer.fd);
	if (isatty(STDERR_FILENO) || options_has(n->run->options, OPTION_VERBOSE))
		output_say(n->run->output, SERVED_INSIDE, n->server, n->server);
	else if (isatty(STDIN_FILENO) && !n->run->output->channel)
		write_terminal(n->server);
	return 0;
}

/* Tell once of the first server that is not published */
static void expect_server(struct run_network *n, uint16_t port)
{
	if (n->server || port < 1 || port >= EPHEMERAL || in_landlock_tier(n) ||
	    has_port(&n->published, htons(port)) ||
	    options_has(n->run->options, OPTION_QUIET))
		return;
	n->server = port;
	n->timer = (struct loop_source){ -1, on_server, n };
	(void)loop_set_timer(n->run->loop, &n->timer, SERVER_MS, false);
}

int run_network_publish(struct run_network *n, uint16_t port, struct err *err)
{
	int r;

	if (!n || !n->gate)
		return fail(err, -ENOTCONN,
			    "there is no filtered network to publish from");
	if (has_port(&n->published, htons(port)))
		return 0;
	if (n->published.len == PUBLISHED_MAX)
		return fail(err, -ENOSPC, "%d ports are published already",
			    PUBLISHED_MAX);
	r = gate_client_publish(n->gate, port, err);
	if (r == 0)
		*vec_push(&n->published) = port;
	return r;
}

/* Publish its port on the host, if the policy says so for any port */
static void on_listen(void *arg, int sock)
{
	struct run_network *n = arg;
	const uint16_t port = port_of(sock);
	struct err err = { 0 };

	localhost_hint_served(&n->local, htons(port));
	if (!n->run->decision.plan->network.publish_any) {
		expect_server(n, port);
		return;
	}
	if (!n->gate || !port || n->published.len == PUBLISHED_MAX ||
	    has_port(&n->published, htons(port)))
		return;
	*vec_push(&n->published) = port;
	if (gate_client_publish(n->gate, port, &err) < 0)
		output_say(n->run->output, "the command's port %u is not reachable from the host: %s",
			  port, err.msg);
}

void run_network_questions(struct run_network *n, struct observer_network *ret)
{
	*ret = (struct observer_network){
		.arg = n, .connect = on_connect, .wants_connect = wants_connect,
		.is_served = is_served, .is_held = may_be_taken, .bind = on_bind,
		.listen = on_listen, .unreached = on_unreached,
	};
}
