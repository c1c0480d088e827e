/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-client.c - the supervisor's side of a sandbox's network
 *
 * The gate parses untrusted data, so it might be taken over: its messages
 * are data, and nothing here waits for it without a limit.
 */

#include "gate/gate-client.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "gate/gate-wire.h"
#include "gate/gate-state.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "policy/policy.h"

enum {
	MESSAGES_MAX = 64,	/* Taken before other sources have their turn */
	EARLY_MS = 2,		/* A command that runs for longer may connect */
	FINISH_MS = 2500,	/* Longer than the gate gives itself */
	SEND_S = 5,		/* For a gate that takes no more messages */
	RESOLVERS_MAX = 8,	/* One after the other, before we give up */
};

/**
 * struct gate_client - A gate, or the listeners that wait for one
 * @set:	The sockets, until the gate has them
 * @waiting:	One for each of @set
 * @pid, @resolver: Processes, or 0
 * @resolvers:	How many resolvers were started
 * @control:	To the gate; -1 without one
 * @names:	The resolver's end of the gate's socket for names; -1 once a
 *		resolver has it
 * @early:	Starts the gate before the first connection; -1 if not
 * @peers:	Ports of expected clients, until the gate has them; or NULL
 * @over:	It has ended: there will be no other
 * @finishing:	It is meant to end
 */
struct gate_client {
	struct loop *loop;
	struct gate_client_config config;
	struct listener_set set;
	struct loop_source waiting[LISTENERS_MAX];
	pid_t pid, resolver;
	int resolvers, names;
	struct loop_source control, early;
	uint8_t *peers;
	bool over, finishing;
};

static void stop_timer(struct gate_client *k)
{
	if (k->early.fd >= 0)
		loop_close(k->loop, &k->early);
}

static void stop_waiting(struct gate_client *k)
{
	stop_timer(k);
	for (size_t i = 0; i < k->set.len; i++)
		loop_remove(k->loop, &k->waiting[i]);
	listener_done(&k->set);
}

/* @wait: until it has ended, unless we are about to end as well */
static void end_process(pid_t *pid, bool wait)
{
	proc_end(&(struct proc){ *pid, -1 }, wait);
	*pid = 0;
}

static void end_processes(struct gate_client *k)
{
	if (k->control.fd >= 0)
		loop_remove(k->loop, &k->control);
	close_fd(&k->control.fd);
	close_fd(&k->names);
	end_process(&k->pid, !k->finishing);
	end_process(&k->resolver, !k->finishing);
}

static void end_gate(struct gate_client *k)
{
	stop_waiting(k);
	end_processes(k);
	k->over = true;
}

static void report_gone(struct gate_client *k, const char *why)
{
	if (k->config.gone && !k->finishing)
		k->config.gone(k->config.arg, why);
}

static void lose_gate(struct gate_client *k)
{
	if (k->over)
		return;
	end_gate(k);
	report_gone(k, "the network gate ended: connections are refused from now on");
}

/* A message that must arrive, with @fd unless it is -1: a gate that does not take
 * it is ended. Descriptors in flight count for all programs of a user: one too
 * many is refused, and the gate goes on.
 */
static int send_message(struct gate_client *k, const void *p, size_t n, int fd)
{
	const int r = socket_send(k->control.fd, p, n, &fd, fd >= 0);

	if (r < 0 && !(fd >= 0 && r == -ETOOMANYREFS))
		lose_gate(k);
	return r;
}

static int send_plain(struct gate_client *k, const struct gate_message *m)
{
	return k->pid ? send_message(k, m, sizeof(*m), -1) : 0;
}

static pid_t find_client(struct gate_client *k, const struct gate_message *m)
{
	return k->config.who && m->client.family
		       ? k->config.who(k->config.arg, &m->client) : 0;
}

static void take_violation(struct gate_client *k, const struct gate_message *m,
			   const char *text, size_t n)
{
	const struct gate_message seen = { .kind = GATE_SEEN, .id = m->id };
	auto_violation struct violation v = { 0 };

	if (violation_from_json(text, n, &v, NULL) < 0)
		return;
	v.pid = find_client(k, m);
	violation_report(&k->config.sink, &v);
	/* The client may go now; a gate that is behind goes on by its timer */
	if (m->id)
		(void)send(k->control.fd, &seen, sizeof(seen),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void take_question(struct gate_client *k, const struct gate_message *m,
			  const char *text, size_t n)
{
	struct host host;

	if (!k->config.ask || host_parse(text, n, m->port, &host) < 0)
		gate_client_answer(k, m->id, false, ASK_ONCE);
	else
		k->config.ask(k->config.arg, m->id, &host, find_client(k, m));
}

static void take_lost(struct gate_client *k, uint32_t count)
{
	static char op[] = "report", target[] = "network reports",
		    reason[] = "more refusals than could be reported";
	const struct violation v = {
		.kind = VIOLATION_LIMIT, .count = count, .op = op,
		.target = target, .reason = reason,
	};

	violation_report(&k->config.sink, &v);
}

/* Fork a resolver in place of the one before. *@theirs is the gate's end of a new
 * socket to it, or -1: the gate has its end already. 0 or a negative errno.
 */
static int fork_resolver(struct gate_client *k, int *theirs)
{
	int pair[2] = { take_fd(&k->names), -1 }, r = 0;

	if (k->resolvers++ >= RESOLVERS_MAX)
		r = -ECHILD;
	else if (pair[0] < 0)
		r = socket_pair(pair);
	if (!r) {
		end_process(&k->resolver, true);
		reap_adopt();	/* Its children come to us when it is killed */
		/* Outside the jail's namespaces: only what is dialled is jailed */
		k->resolver = fork();
		if (!k->resolver)
			resolve_main(pair[0], k->config.limits ?
				     k->config.limits->lookup : NULL);
		if (k->resolver < 0)
			r = -errno;
	}
	close_fd(&pair[0]);
	*theirs = pair[1];
	return r;
}

static void start_resolver(struct gate_client *k)
{
	struct gate_message m = { .kind = GATE_RESOLVER };
	auto_close int theirs = -1;

	m.allow = fork_resolver(k, &theirs) == 0;
	if (theirs >= 0 && m.allow)
		m.allow = send_message(k, &m, sizeof(m), theirs) == 0;
	if (theirs < 0 || !m.allow)
		(void)send_plain(k, &m);
	if (!m.allow && !k->over)
		report_gone(k, "the resolver has ended: no name is found from now on");
}

/* True if there was one that is not the last */
static bool take_message(struct gate_client *k)
{
	struct {
		struct gate_message m;
		char text[GATE_TEXT_MAX];
	} in;
	const ssize_t got = recv(k->control.fd, &in, sizeof(in), MSG_DONTWAIT);
	const size_t n = (size_t)got - sizeof(in.m);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got < (ssize_t)sizeof(in.m)) {
		lose_gate(k);
		return false;
	}
	if (in.m.kind == GATE_VIOLATION)
		take_violation(k, &in.m, in.text, n);
	else if (in.m.kind == GATE_ASK)
		take_question(k, &in.m, in.text, n);
	else if (in.m.kind == GATE_LOST)
		take_lost(k, in.m.id);
	else if (in.m.kind == GATE_NAMES)
		start_resolver(k);
	else if (in.m.kind == GATE_USED && k->config.used)
		k->config.used(k->config.arg, in.text, n);
	else if (in.m.kind == GATE_HOSTS && k->config.hosts)
		k->config.hosts(k->config.arg, in.text, n);
	/* The gate's exit is not waited for */
	return in.m.kind != GATE_HOSTS;
}

static int on_control(void *arg)
{
	struct gate_client *k = arg;

	for (int i = 0; i < MESSAGES_MAX && k->control.fd >= 0 && take_message(k); i++)
		;
	return 0;
}

void gate_client_finish(struct gate_client *k)
{
	const struct gate_message m = { .kind = GATE_FINISH };
	const int64_t until = now_ms(CLOCK_MONOTONIC) + FINISH_MS;

	if (!k || !k->pid)
		return;
	k->finishing = true;
	/* The end of the socket says the same to a gate that is behind */
	if (send(k->control.fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		(void)shutdown(k->control.fd, SHUT_WR);
	while (k->control.fd >= 0) {
		struct pollfd p = { .fd = k->control.fd, .events = POLLIN };
		const int64_t left = until - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(&p, 1, (int)left) != 1 ||
		    !take_message(k))
			break;
	}
}

static void run_gate(int socket, const void *arg)
{
	struct gate_config config = *(const struct gate_config *)arg;

	config.control = socket;
	gate_main(&config);
}

static int fork_gate(struct gate_client *k, struct gate_config *config,
		     struct err *err)
{
	static const struct timeval patience = { SEND_S, 0 };
	struct proc gate = PROC_NONE;
	int names[2] = { -1, -1 };
	int r = socket_pair(names);

	config->names = names[1];
	if (!r)
		r = proc_spawn("cloche-gate", 0, run_gate, config, &gate);
	close_fd(&names[1]);
	k->pid = r < 0 ? 0 : gate.pid;
	k->control.fd = gate.socket;
	k->names = names[0];
	if (!r && setsockopt(gate.socket, SOL_SOCKET, SO_SNDTIMEO, &patience,
			     sizeof(patience)) < 0)
		r = -errno;
	if (!r)
		r = loop_add(k->loop, &k->control, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot start the network gate: %s",
			    strerror(-r)) : 0;
}

int gate_client_start(struct gate_client *k, struct err *err)
{
	struct gate_config config = { 0 };
	int r;

	if (k->over)
		return fail(err, -EOWNERDEAD, "the network gate has ended");
	if (k->pid)
		return 0;
	if (k->config.limits)
		config = *k->config.limits;
	config.listeners = &k->set;
	config.jail = k->config.jail;
	config.policy = k->config.policy;
	config.may_ask = k->config.ask != NULL;
	config.wait_for_lookup = k->config.who != NULL;
	config.peers = k->peers;
	config.secrets = k->config.secrets;
	config.tls = k->config.secrets ? k->config.tls : -1;
	stop_timer(k);
	r = fork_gate(k, &config, err);
	if (r < 0)
		end_processes(k);
	else
		stop_waiting(k);
	return r;
}

static int on_listener(void *arg)
{
	struct gate_client *k = arg;
	struct err err = { 0 };

	if (gate_client_start(k, &err) < 0) {
		end_gate(k);
		report_gone(k, err.msg);
	}
	return 0;
}

/* If this fails, the first connection tries again */
static int on_early(void *arg)
{
	(void)gate_client_start(arg, NULL);
	return 0;
}

void gate_client_start_early(struct gate_client *k)
{
	if (!k->pid && !k->over && k->early.fd < 0)
		(void)loop_set_timer(k->loop, &k->early, EARLY_MS, false);
}

/* Seeds are never ready by themselves; any other socket that is needs the gate */
static int wait_on(struct gate_client *k, size_t i)
{
	k->waiting[i] = (struct loop_source){ k->set.fds[i], on_listener, k };
	if (k->set.v[i].role == LISTENER_SEED ||
	    k->set.v[i].role == LISTENER_SEED_SOCKET)
		return 0;
	return loop_add(k->loop, &k->waiting[i], EPOLLIN);
}

int gate_client_new(struct loop *loop, const struct gate_client_config *config,
		    struct listener_set *listeners, struct gate_client **ret,
		    struct err *err)
{
	struct gate_client *k = mem_zalloc(sizeof(*k));
	int r = 0;

	k->loop = loop;
	k->config = *config;
	k->config.policy = policy_ref(config->policy);
	k->control = (struct loop_source){ -1, on_control, k };
	k->early = (struct loop_source){ -1, on_early, k };
	k->names = -1;
	if (config->known_peers)
		k->peers = mem_zalloc(GATE_PEERS_SIZE);
	k->set = *listeners;
	listeners->len = 0;
	for (size_t i = 0; !r && i < k->set.len; i++)
		r = wait_on(k, i);
	if (r < 0) {
		gate_client_free(k);
		return fail(err, r, "cannot wait for connections: %s",
			    strerror(-r));
	}
	*ret = k;
	return 0;
}

void gate_client_free(struct gate_client *k)
{
	if (!k)
		return;
	end_gate(k);
	policy_unref(k->config.policy);
	free(k->peers);
	free(k);
}

int gate_client_add(struct gate_client *k, enum listener_role role,
		    uint16_t port, uint32_t id, int fd)
{
	const struct gate_message m = {
		.kind = GATE_LISTENER, .role = (uint16_t)role, .port = port,
		.id = id,
	};
	int r = k->over ? -EOWNERDEAD : 0;

	/* One that will be removed again needs its @id in the gate, and a client
	 * is about to connect to it anyway
	 */
	if (!r && id)
		r = gate_client_start(k, NULL);
	if (!r && !k->pid) {
		r = listener_add(&k->set, role, port, fd);
		return r < 0 ? r : wait_on(k, k->set.len - 1);
	}
	if (!r)
		r = send_message(k, &m, sizeof(m), fd);
	close_fd(&fd);
	return r;
}

void gate_client_remove(struct gate_client *k, uint32_t id)
{
	(void)send_plain(k, &(struct gate_message){
		.kind = GATE_UNLISTEN, .id = id });
}

int gate_client_publish(struct gate_client *k, uint16_t port, struct err *err)
{
	static const int on = 1;
	const struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return fail_errno(err, "cannot listen on 127.0.0.1:%u", port);
	r = gate_client_add(k, LISTENER_PUBLISH, port, 0, take_fd(&fd));
	return r < 0 ? fail(err, r, "cannot publish port %u: %s", port,
			    strerror(-r)) : 0;
}

/* In parts, because a message has a limit; without a descriptor, of which there
 * might be none left
 */
static int send_policy(struct gate_client *k, const struct policy *policy)
{
	auto_buf struct buf text = { 0 };
	int r = 0;

	gate_policy_write(policy, NULL, &text);
	/* Never go on with what was just forbidden */
	if (text.len > GATE_POLICY_MAX) {
		lose_gate(k);
		return -EFBIG;
	}
	for (size_t at = 0; !r && at < text.len; ) {
		const size_t left = text.len - at;
		const size_t n = left < GATE_PART_MAX ? left : GATE_PART_MAX;
		const struct gate_message m = {
			.kind = GATE_POLICY, .id = (uint32_t)(left - n),
		};
		auto_buf struct buf out = { 0 };

		buf_add(&out, &m, sizeof(m));
		buf_add(&out, text.p + at, n);
		r = send_message(k, out.p, out.len, -1);
		at += n;
	}
	return r;
}

int gate_client_reload(struct gate_client *k, struct policy *policy,
		       struct err *err)
{
	/* A gate that has ended allows nothing */
	const int r = k->pid ? send_policy(k, policy) : 0;

	if (r < 0)
		return fail(err, r, "cannot give the gate its policy: %s",
			    strerror(-r));
	policy_ref(policy);
	policy_unref(k->config.policy);
	k->config.policy = policy;
	return 0;
}

void gate_client_answer(struct gate_client *k, uint32_t id, bool allow,
			enum ask_scope scope)
{
	(void)send_plain(k, &(struct gate_message){
		.kind = GATE_ANSWER, .id = id, .allow = allow,
		.scope = (uint8_t)scope });
}

int gate_client_expect(struct gate_client *k, uint16_t port)
{
	if (k->over)
		return -EOWNERDEAD;
	if (!k->pid && k->peers)
		k->peers[port / 8] |= (uint8_t)(1 << port % 8);
	return send_plain(k, &(struct gate_message){
		.kind = GATE_PEER, .port = port });
}
