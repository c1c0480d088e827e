/* SPDX-License-Identifier: Apache-2.0 */
/* net/gatekeeper.h - the supervisor's side of a sandbox's network
 *
 * It waits on the listeners until somebody inside connects, or the command has
 * run for a moment, and only then forks the gate: a short command that does
 * not use the network never pays for it. From then on the sockets are the
 * gate's alone, so when the gate ends, for whatever reason, the kernel refuses
 * connections.
 */

#ifndef NET_GATEKEEPER_H
#define NET_GATEKEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/ask.h"
#include "net/resolve.h"
#include "policy/violation.h"

struct err;
struct gate_config;
struct gatekeeper;
struct listener_client;
struct listener_set;
struct loop;
struct policy;

/**
 * struct gatekeeper_config - Who wants to know what; callbacks get @arg
 * @policy:	What is allowed; referenced
 * @sink:	Gets each refusal; run, command and suggestions are unset
 * @ask:	Put a question about @host, for @pid, to somebody, and later call
 *		gatekeeper_answer() with @id; NULL if nobody can be asked
 * @known_peers: Others can reach the listeners too: only clients that
 *		gatekeeper_expect() announced are served
 * @who:	Which process is @client, or 0; NULL if nobody can tell
 * @gone:	The gate ended and the network with it, or nobody looks up names
 *		any more; @why is one line
 * @jail:	Namespaces (user, network) to dial from, or NULL; they stay open
 * @limits:	Shorter times, fewer connections, another resolver; or NULL
 */
struct gatekeeper_config {
	struct policy *policy;
	struct violation_sink sink;
	void (*ask)(void *arg, uint32_t id, const struct host *host, pid_t pid);
	pid_t (*who)(void *arg, const struct listener_client *client);
	void (*gone)(void *arg, const char *why);
	void *arg;
	bool known_peers;
	const int *jail;
	const struct gate_config *limits;
};

/* Take over @listeners and wait on @loop */
int gatekeeper_new(struct loop *loop, const struct gatekeeper_config *config,
		   struct listener_set *listeners, struct gatekeeper **ret,
		   struct err *err);

/* Take what the gate has said so far. A refusal is reported before the client
 * hears of it, so nothing that a program saw is missing then.
 */
void gatekeeper_drain(struct gatekeeper *keeper);

/* The same when all programs inside have ended, and wait until the gate has
 * passed on what they sent last: at once, as a rule; two seconds at most
 */
void gatekeeper_finish(struct gatekeeper *keeper);

/* End the gate, if there is one */
void gatekeeper_free(struct gatekeeper *keeper);

/**
 * struct gatekeeper_listener - A socket that comes later
 * @role, @port: As in struct listener
 * @id:		What gatekeeper_remove() calls it; 0 if it stays
 */
struct gatekeeper_listener {
	uint16_t role, port;
	uint32_t id;
};

/* Serve one more socket, which is taken */
int gatekeeper_add(struct gatekeeper *keeper,
		   const struct gatekeeper_listener *row, int fd);

/* Close it again, when those who wait there were served */
void gatekeeper_remove(struct gatekeeper *keeper, uint32_t id);

/* Listen on the host's 127.0.0.1:@port and connect to that port inside; the
 * listeners of the sandbox must have had a seed. 0 or a negative errno with
 * words.
 */
int gatekeeper_publish(struct gatekeeper *keeper, uint16_t port,
		       struct err *err);

/* From now on @policy decides, also about connections that are open */
int gatekeeper_reload(struct gatekeeper *keeper, struct policy *policy,
		      struct err *err);

/* What somebody said to the question @id */
void gatekeeper_answer(struct gatekeeper *keeper, uint32_t id, bool allow,
		       enum ask_scope scope);

/* A client will connect from the loopback's @port; say so before it does. 0 or
 * a negative errno.
 */
int gatekeeper_expect(struct gatekeeper *keeper, uint16_t port);

/* The command has started: unless it ends at once, it will find the gate ready
 */
void gatekeeper_start_early(struct gatekeeper *keeper);

/* Start the gate now, instead of at the first connection */
int gatekeeper_start(struct gatekeeper *keeper, struct err *err);

#endif /* NET_GATEKEEPER_H */
