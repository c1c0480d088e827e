/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-network.h - a run's network: gate, ports on demand, questions */

#ifndef RUN_RUN_NETWORK_H
#define RUN_RUN_NETWORK_H

#include <sys/types.h>

struct err;
struct jail_run;
struct listener_set;
struct loop;
struct run_network;
struct observer_network;
struct policy;
struct decision;
struct violation_sink;

/**
 * struct run_network_config - What a run's network is made of
 * @listeners:	From the sandbox; taken over. NULL: there is no gate, and all that is
 *		done is to report what cannot be reached
 * @jail:	Where the gate dials from, or NULL: the host's own network
 * @user, @net:	The sandbox's namespaces; stay the caller's and open
 * @init:	Its process 1
 */
struct run_network_config {
	struct loop *loop;
	const struct decision *decision;
	const struct violation_sink *sink;
	struct listener_set *listeners;
	const struct jail_run *jail;
	int user, net;
	pid_t init;
};

int run_network_start(const struct run_network_config *config,
		  struct run_network **ret, struct err *err);

/* The command has started: be ready when it connects */
void run_network_command_runs(struct run_network *network);

/* The command has ended: take the last reports, end the gate */
void run_network_finish(struct run_network *network);
void run_network_free(struct run_network *network);

/* The command has failed: report ports that it tried at the sandbox's localhost and
 * that the host serves */
void run_network_explain(const struct run_network *network);

/* What the observer is to ask; as long as the network lives */
void run_network_questions(struct run_network *network,
		       struct observer_network *ret);

/* From now on @policy decides */
int run_network_reload(struct run_network *network, struct policy *policy,
		   struct err *err);

#endif /* RUN_RUN_NETWORK_H */
