/* SPDX-License-Identifier: Apache-2.0 */
/* lib/network.h - a run's network: gate, ports on demand, questions */

#ifndef LIB_NETWORK_H
#define LIB_NETWORK_H

#include <sys/types.h>

struct err;
struct jail_run;
struct listener_set;
struct loop;
struct network_run;
struct observer_network;
struct options;
struct policy;
struct session;
struct violation_sink;

/**
 * struct network_config - What a run's network is made of
 * @listeners:	From the sandbox; taken over. NULL: there is no gate, and all that is
 *		done is to report what cannot be reached
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

/* It has failed: tell of what it looked for at a localhost that is not the host's */
void network_explain(const struct network_run *network);

/* What the observer is to ask; as long as the network lives */
void network_questions(struct network_run *network,
		       struct observer_network *ret);

/* From now on @policy decides */
int network_reload(struct network_run *network, struct policy *policy,
		   struct err *err);

#endif /* LIB_NETWORK_H */
