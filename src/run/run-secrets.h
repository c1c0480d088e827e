/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-secrets.h - the secrets of a run, which cloche-tls holds and the command
 * does not
 */

#ifndef RUN_RUN_SECRETS_H
#define RUN_RUN_SECRETS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/proc.h"
#include "gate/bound-secret.h"
#include "plan/plan.h"

struct err;
struct options;
struct policy;

/**
 * struct masked_text - One of them
 * @label:	The variable, or the path as settings have it
 * @source:	As --secret-from has it
 * @hosts:	Where its secrets may go, commas between
 * @mask:	The entry of the settings, JSON
 * @row:	Its number among the run's secrets
 * @file:	Where the file really is, NULL for a variable; and what is shown. As long
 *		as that is NULL, it stays hidden.
 */
struct masked_text {
	const char *label, *mask;
	char *source, *hosts;
	size_t row;
	struct shown_file file;
};

struct masked_texts {
	struct masked_text *v;
	size_t len, cap;
};

/* What @policy masks, exists, and is not a bound secret already. The texts point into
 * @policy.
 */
void masked_texts_find(const struct policy *policy, struct masked_texts *ret);

/* The text of row @row is shown as the @n bytes at @p */
void masked_texts_show(struct masked_texts *texts, size_t row, const char *p,
		       size_t n);

void masked_texts_done(struct masked_texts *texts);

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

/* Start cloche-tls with what @policy binds. 0, or a negative errno with a message.
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

/* secret-source.c - processes that write the value of a secret into a pipe */

enum { SECRET_SOURCE_S = 12 }; /* Until one ends itself; cloche-tls waits 10 s */

/* Start a process that writes the value of @name as @from says ("env:X", "file:X",
 * "command:X"; NULL: from the store, else the variable). Its number in *@ret, 0 where
 * none is needed; the end of the pipe for reading, which does not block, or -errno.
 */
int secret_source_open(const char *name, const char *from, pid_t *ret);

/* End it and all that it has started, if it is still there */
void secret_source_end(pid_t pid);

/* secret-binding.c - which secrets a run has, and where they may go */

/* Check the entries of @policy, "NAME[@HOST,...]", one for each name in the end, and
 * allow their hosts. The variables and files that their values come from are denied.
 * 0, or a negative errno with a message.
 */
int secret_bindings_expand(struct policy *policy, struct err *err);

/* True if @policy binds the variable @name to some host */
bool secret_is_bound(const struct policy *policy, const char *name);

/* The file that the source "file:@text" names: "~/" is $HOME. False if there is none. */
bool secret_source_path(const char *text, char ret[static PATH_MAX]);

#endif /* RUN_RUN_SECRETS_H */
