/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-client.h - the supervisor's side of a sandbox's network
 *
 * It waits on the listeners until a program inside connects, or the command has
 * run for a moment, and only then forks the gate: a short command without
 * network never pays for it. From then on only the gate has the sockets, so
 * when it ends, for whatever reason, the kernel refuses connections.
 */

#ifndef GATE_GATE_CLIENT_H
#define GATE_GATE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate/ask.h"
#include "ipc/listener.h"
#include "report/violation.h"

struct bound_secrets;
struct err;
struct gate_config;
struct gate_client;
struct loop;
struct policy;

/**
 * struct gate_client_config - Policy and callbacks, which get @arg
 * @policy:	What is allowed; referenced
 * @sink:	Gets each refusal; run, command and suggestions are unset
 * @ask:	Ask the user about @host, for @pid, and later call
 *		gate_client_answer() with @id; NULL if unknown hosts are refused
 * @known_peers: Others can reach the listeners too: only clients that
 *		gate_client_expect() announced are served
 * @who:	Which process is @client, or 0; NULL if that is unknown
 * @used:	A secret was put into a request: NAME@HOST, @n bytes, once for each;
 *		or NULL
 * @hosts:	The hosts that were reached, at the end: gate_hosts_text(); or NULL
 * @gone:	The gate ended and the network with it, or the resolver did;
 *		@why is one line
 * @jail:	Namespaces (user, network) to dial from, or NULL; they stay open
 * @secrets, @tls: Which hosts cloche-tls serves, and a socket to it, which stays the
 *		caller's; or NULL
 * @limits:	Shorter times, fewer connections, another resolver; or NULL
 */
struct gate_client_config {
	struct policy *policy;
	struct violation_sink sink;
	void (*ask)(void *arg, uint32_t id, const struct host *host, pid_t pid);
	pid_t (*who)(void *arg, const struct listener_client *client);
	void (*used)(void *arg, const char *text, size_t n);
	void (*hosts)(void *arg, const char *text, size_t n);
	void (*gone)(void *arg, const char *why);
	void *arg;
	bool known_peers;
	const int *jail;
	const struct bound_secrets *secrets;
	int tls;
	const struct gate_config *limits;
};

/* Take over @listeners and wait on @loop */
int gate_client_new(struct loop *loop, const struct gate_client_config *config,
		    struct listener_set *listeners, struct gate_client **ret,
		    struct err *err);

/* All programs inside have ended: take what the gate has reported, and wait until it has
 * forwarded what they sent last: at once, as a rule; two seconds at most
 */
void gate_client_finish(struct gate_client *client);

/* End the gate, if there is one */
void gate_client_free(struct gate_client *client);

/* Serve one more socket, which is taken; @role and @port as in struct listener.
 * @id is for gate_client_remove(), 0 if it stays. 0 or a negative errno.
 */
int gate_client_add(struct gate_client *client, enum listener_role role,
		     uint16_t port, uint32_t id, int fd);

/* Close it again, after its pending connections were served */
void gate_client_remove(struct gate_client *client, uint32_t id);

/* Listen on the host's 127.0.0.1:@port and connect to that port inside; the
 * listeners of the sandbox must have had a seed. 0 or a negative errno with
 * a message.
 */
int gate_client_publish(struct gate_client *client, uint16_t port,
		         struct err *err);

/* From now on @policy decides, also about connections that are open */
int gate_client_reload(struct gate_client *client, struct policy *policy,
		        struct err *err);

/* The answer to the question @id */
void gate_client_answer(struct gate_client *client, uint32_t id, bool allow,
		         enum ask_scope scope);

/* A client will connect from the loopback's @port; say so before it does. 0 or
 * a negative errno.
 */
int gate_client_expect(struct gate_client *client, uint16_t port);

/* The command has started: unless it ends at once, it will find the gate ready
 */
void gate_client_start_early(struct gate_client *client);

/* Start the gate now, instead of at the first connection */
int gate_client_start(struct gate_client *client, struct err *err);

#endif /* GATE_GATE_CLIENT_H */
