/* SPDX-License-Identifier: Apache-2.0 */
/* policy/managed.h - what stronger files forbid weaker ones to set
 *
 * Inside of policy/.
 */

#ifndef POLICY_MANAGED_H
#define POLICY_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/origin.h"

struct ask;
struct err;
struct fact;
struct facts;
struct policy;
struct policy_dedup;
struct file_reader;

/**
 * struct managed - The locks that hold, each with the fact behind it, or NULL
 * @reader:	Follows links
 * @unsandboxed: Nothing that a repository's file asks for counts
 * @domains:	allowManagedDomainsOnly
 * @read_paths:	allowManagedReadPathsOnly
 * @rules:	allowManagedPermissionRulesOnly
 * @strict:	strictAllowlist
 * @filesystem:	A managed file has a rule about the file system
 * @network:	... about the network
 * @names:	... about hosts by name
 * @denied:	Paths that each scope denies reading, as text and with links
 *		followed; of SCOPE_BUILTIN those that the defaults hide
 * @denials:	The same without the defaults, for patterns
 */
struct managed {
	const struct file_reader *reader;
	const struct fact *unsandboxed;
	const struct fact *domains, *read_paths, *rules, *strict, *filesystem;
	const struct fact *network, *names;
	struct policy_dedup *denied;
	struct {
		struct denial { enum scope scope; char *path; } *v;
		size_t len, cap;
	} denials;
};

void managed_init(struct managed *locks, const struct facts *facts,
		  const struct file_reader *reader);
void managed_done(struct managed *locks);

/* Store what a policy without any settings hides */
void managed_note_hidden(struct managed *locks, const struct facts *facts,
		       const struct policy *policy);

/* Store the denials of @policy, once all are applied */
void managed_note_denials(struct managed *locks, const struct facts *facts,
			const struct policy *policy);

/**
 * struct refusal - Why a value is ignored
 * @why:	A text for the user
 * @by:		The fact that locks it, or NULL
 */
struct refusal {
	const char *why;
	const struct fact *by;
};

/* True if a file of that scope may set @fact; else the reason is in @ret */
bool managed_admit(const struct managed *locks, const struct fact *fact,
		 struct refusal *ret);

/* True if a rule of permissions.allow of @fact may open a host */
bool managed_admit_host(const struct managed *locks, const struct fact *fact,
		      struct refusal *ret);

/* True if the user may approve @ask of @fact's file; else the reason is in @ret */
bool managed_admit_ask(const struct managed *locks, const struct fact *fact,
		     const struct ask *ask, struct refusal *ret);

/* True if a file of @scope may open @path, or a pattern below it: no scope that it
 * cannot overrule denies that
 */
bool managed_admit_path(const struct managed *locks, enum scope scope,
			const char *path, bool glob, struct refusal *ret);

/* Refuse a command-line option that a lock forbids; @policy holds the managed files
 * and the options. 0, or -EPERM with a message.
 */
int managed_check_options(const struct managed *locks,
			  const struct policy *policy, struct err *err);

/* Refuse a network without the filter that the managed lists need. 0, or -EPERM
 * with a message.
 */
int managed_check_net(const struct managed *locks, const struct policy *policy,
		      struct err *err);

#endif /* POLICY_MANAGED_H */
