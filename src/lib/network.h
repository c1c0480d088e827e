/* SPDX-License-Identifier: Apache-2.0 */
/* lib/network.h - a run's network: gate, ports on demand, questions */

#ifndef LIB_NETWORK_H
#define LIB_NETWORK_H

#include <stdbool.h>
#include <sys/socket.h>

struct err;
struct jail_run;
struct listener_set;
struct loop;
struct network_run;
struct options;
struct policy;
struct session;
struct violation_sink;

/**
 * struct network_config - What a run's network is made of
 * @listeners:	From the sandbox; taken over
 * @jail:	Where the gate dials from, or NULL: the host's own network
 * @user, @net:	The sandbox's namespaces; stay the caller's and open
 * @init:	Its process 1
 */
struct network_config {
	struct loop *loop;
	const struct session *session;
	const struct options *options;
	const struct violation_sink *sink;
	struct listener_set *listeners;
	const struct jail_run *jail;
	int user, net;
	pid_t init;
};

int network_start(const struct network_config *config,
		  struct network_run **ret, struct err *err);

/* The command has started: be ready when it connects */
void network_command_runs(struct network_run *network);

/* The command has ended: take the last reports, end the gate */
void network_finish(struct network_run *network);
void network_free(struct network_run *network);

/* A connect() is about to be made inside (struct observer_policy): capture its
 * destination. 0: whether it may is the gate's to say. In the landlock tier it
 * is made here: 1, or a negative errno.
 */
int network_connect(void *network, const struct sockaddr *address,
		    socklen_t len, int socket);

/* True if network_connect() has nothing to do for this address and never will:
 * it is captured from the start, or cannot be. Safe in any thread.
 */
bool network_serves(const struct network_run *network,
		    const struct sockaddr *address, socklen_t len);

/* False if network_connect() has nothing to do for this address: it is captured
 * already, or cannot be
 */
bool network_wants(struct network_run *network, const struct sockaddr *address,
		   socklen_t len);

/* A listen() on a copy of @socket is about to be made inside: publish its port
 * on the host, if the policy says so for any port
 */
void network_listen(struct network_run *network, int socket);

/* From now on @policy decides */
int network_reload(struct network_run *network, struct policy *policy,
		   struct err *err);

#endif /* LIB_NETWORK_H */
