/* SPDX-License-Identifier: Apache-2.0 */
/* policy/locks.h - what stronger files forbid weaker ones to say
 *
 * Inside of policy/. The names follow guards.def.
 */

#ifndef POLICY_LOCKS_H
#define POLICY_LOCKS_H

#include <stdbool.h>

struct fact;
struct facts;
struct path_rule;
struct policy;
struct policy_seen;
struct reader;

/**
 * struct locks - The locks that hold, each with the fact behind it, or NULL
 * @unsandboxed: The repository's files may not loosen (L1)
 * @proxies:	... nor choose a proxy (L2)
 * @reads:	... nor open what was denied (L3)
 * @domains:	allowManagedDomainsOnly
 * @read_paths:	allowManagedReadPathsOnly
 * @rules:	allowManagedPermissionRulesOnly
 * @strict:	strictAllowlist
 * @filesystem:	A managed file has a say about the file system
 * @network:	... about the network
 * @names:	... about hosts by name
 * @option_reads: --deny-read was given: as @reads
 * @denied:	Directories that managed, flag and user settings deny reading,
 *		as text and with links followed
 */
struct locks {
	const struct fact *unsandboxed, *proxies, *reads;
	const struct fact *domains, *read_paths, *rules, *strict, *filesystem;
	const struct fact *network, *names;
	bool option_reads;
	struct policy_seen *denied;
};

void locks_init(struct locks *locks, const struct facts *facts);
void locks_done(struct locks *locks);

/* Once the denials are in @policy, remember those of trusted scopes */
void locks_note_denials(struct locks *locks, const struct facts *facts,
			const struct policy *policy,
			const struct reader *reader);

/**
 * struct refusal - Why a value does not count
 * @why:	Words
 * @by:		The fact that locks it, or NULL
 */
struct refusal {
	const char *why;
	const struct fact *by;
};

/* True if @fact counts; else @ret says why not. For lists of paths and of
 * credentials each entry is asked about as well, below.
 */
bool locks_admit(const struct locks *locks, const struct facts *facts,
		 const struct fact *fact, struct refusal *ret);

/* True if a repository's entry that allows @rule counts. @read: it is an
 * allowRead.
 */
bool locks_admit_path(const struct locks *locks, const struct reader *reader,
		      const struct path_rule *rule, bool read,
		      struct refusal *ret);

/* True if a rule of permissions.allow of @fact may open a host */
bool locks_admit_host(const struct locks *locks, const struct fact *fact,
		      struct refusal *ret);

#endif /* POLICY_LOCKS_H */
