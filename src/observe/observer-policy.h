/* SPDX-License-Identifier: Apache-2.0 */
/* observe/observer-policy.h - the observer's policy, decided by the view */

#ifndef OBSERVE_OBSERVER_POLICY_H
#define OBSERVE_OBSERVER_POLICY_H

#include <stddef.h>

struct planted;
struct observer_rules;
struct observer_policy;
struct observer_socket;
struct plan;
struct policy;
struct timespec;
struct view;

/* The policy of @view. @plan is what the sandbox was built from: from
 * @view itself, or from an older one after an edit. Both outlive the result.
 * @store: where --ephemeral keeps changes, or NULL. What was made after @since is
 * new.
 */
struct observer_rules *observer_rules_new(const struct view *view, const struct plan *plan,
			    const char *store, const struct timespec *since);
/* A repository that is made in this run must work, also when @view was made in
 * the middle of it: what the walk found there is judged by its name, unless it is
 * the user's by @planted, which may be NULL
 */
void observer_rules_spare(struct view *view, const struct timespec *since,
		   const struct planted *planted);
void observer_rules_free(struct observer_rules *rules);

/* What the command wrote that a later command runs, as text for one line; "" if
 * there is nothing. @before, if it is not NULL, hands its own over.
 */
void observer_rules_take_noted(struct observer_rules *rules, struct observer_rules *before);
const char *observer_rules_noted(const struct observer_rules *rules);
/* Likewise: what it wrote to the private home of profile home */
const char *observer_rules_private(const struct observer_rules *rules);

/* To hand to the observer; connect() is not decided here: ret->network is empty */
void observer_rules_policy(struct observer_rules *rules, struct observer_policy *ret);

/* The Unix sockets that the policy names, as the objects they are now; not
 * through a link that a command could have planted. The caller frees.
 */
struct observer_socket *observer_rules_sockets(const struct policy *policy,
					size_t *ret_len);

#endif /* OBSERVE_OBSERVER_POLICY_H */
