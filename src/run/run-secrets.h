/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-secrets.h - the secrets of a run, which cloche-tls holds and the command
 * does not
 */

#ifndef RUN_RUN_SECRETS_H
#define RUN_RUN_SECRETS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/proc.h"
#include "gate/bound-secret.h"
#include "run/masked-text.h"

struct err;
struct options;
struct policy;

/**
 * struct run_secrets - What is known of them here: everything but the values
 * @program:	cloche-tls
 * @channel:	The gate's end of a socket to it
 * @sources:	Processes that write values, until these have come
 * @from:	Where values are, as --secret-from has it; NULL: in the store
 * @shapes:	Forms of stored secrets by their names
 * @source:	Of messages from @program, in @loop
 * @used:	NAME@HOST of those that were put into requests, blanks between them
 * @bundle:	Certificates for the sandbox: the host's, and the run's own
 * @java:	Key store of Java's for the sandbox, likewise; empty without one
 * @masked:	Files and variables with placeholders in them
 * @shown:	The files among them, as the plan takes them; not owned
 * @notes:	What the user should know about those
 */
struct run_secrets {
	struct bound_secrets bound;
	struct proc program;
	int channel;
	pid_t sources[BOUND_SECRETS_MAX];
	char *from[BOUND_SECRETS_MAX];
	json_t *shapes;
	struct loop *loop;
	struct loop_source source;
	struct buf used;
	char *bundle;
	struct buf java;
	struct masked_texts masked;
	struct {
		struct shown_file *v;
		size_t len, cap;
	} shown;
	struct strings notes;
};

/* Where the sandbox finds @bundle */
#define RUN_SECRETS_BUNDLE "/etc/ssl/certs/ca-certificates.crt"

/* True if @policy has something for cloche-tls to do */
bool run_secrets_wanted(const struct policy *policy);

/* Start cloche-tls with what @policy binds. *@ret is NULL if nothing is bound. 0, or a
 * negative errno with a message.
 */
int run_secrets_start(struct policy *policy, struct run_secrets **ret,
		      struct err *err);

/* Wait for it, and let @policy set the placeholders and the variables that name the
 * bundle. 0, or a negative errno with a message.
 */
int run_secrets_collect(struct run_secrets *secrets, struct policy *policy,
			const struct options *options, struct err *err);

/* From now on @loop gives cloche-tls the values that it asks for. 0 or -errno. */
int run_secrets_watch(struct run_secrets *secrets, struct loop *loop);

/* Remember that @text, NAME@HOST of @n bytes, was put into a request */
void run_secrets_used(struct run_secrets *secrets, const char *text, size_t n);

/* End cloche-tls; NULL is ignored */
void run_secrets_end(struct run_secrets *secrets);

#endif /* RUN_RUN_SECRETS_H */
