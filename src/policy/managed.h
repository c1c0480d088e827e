/* SPDX-License-Identifier: Apache-2.0 */
/* policy/locks.h - what stronger files forbid weaker ones to say
 *
 * Inside of policy/. The names follow guards.def.
 */

#ifndef POLICY_LOCKS_H
#define POLICY_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/origin.h"

struct ask;
struct ask_context;
struct fact;
struct facts;
struct policy;
struct policy_seen;
struct reader;

/**
 * struct locks - The locks that hold, each with the fact behind it, or NULL
 * @unsandboxed: Nothing that a repository's file asks for counts
 * @domains:	allowManagedDomainsOnly
 * @read_paths:	allowManagedReadPathsOnly
 * @rules:	allowManagedPermissionRulesOnly
 * @strict:	strictAllowlist
 * @filesystem:	A managed file has a say about the file system
 * @network:	... about the network
 * @names:	... about hosts by name
 * @denied:	Paths that each scope denies reading, as text and with links
 *		followed; of SCOPE_BUILTIN those that the defaults hide
 * @denials:	The same without the defaults, for patterns
 */
struct locks {
	const struct fact *unsandboxed;
	const struct fact *domains, *read_paths, *rules, *strict, *filesystem;
	const struct fact *network, *names;
	struct policy_seen *denied;
	struct {
		struct denial { enum scope scope; char *path; } *v;
		size_t len, cap;
	} denials;
};

void locks_init(struct locks *locks, const struct facts *facts);
void locks_done(struct locks *locks);

/* Remember what a policy without any settings hides */
void locks_note_hidden(struct locks *locks, const struct facts *facts,
		       const struct policy *policy);

/* Once the denials are in @policy, remember them */
void locks_note_denials(struct locks *locks, const struct facts *facts,
			const struct policy *policy,
			const struct reader *reader);

/* True if the defaults hide @path, or what is above it */
bool locks_hide(void *locks, const char *path);

/**
 * struct refusal - Why a value does not count
 * @why:	Words
 * @by:		The fact that locks it, or NULL
 */
struct refusal {
	const char *why;
	const struct fact *by;
};

/* True if @fact counts as far as its scope is concerned; else @ret says why not */
bool locks_admit(const struct locks *locks, const struct fact *fact,
		 struct refusal *ret);

/* True if a rule of permissions.allow of @fact may open a host */
bool locks_admit_host(const struct locks *locks, const struct fact *fact,
		      struct refusal *ret);

/* True if what @ask of @fact's file asks for may be approved of */
bool locks_admit_ask(const struct locks *locks, const struct fact *fact,
		     const struct ask *ask, const struct reader *reader,
		     struct refusal *ret);

/* True if a file of @scope may open @path, or a pattern below it, for nobody
 * whom it cannot overrule denies that
 */
bool locks_admit_path(const struct locks *locks, const struct reader *reader,
		      enum scope scope, const char *path, bool glob,
		      struct refusal *ret);

#endif /* POLICY_LOCKS_H */
