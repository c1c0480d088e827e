/* SPDX-License-Identifier: Apache-2.0 */
/* lib/observe.h - the observer's questions, answered by the view */

#ifndef LIB_OBSERVE_H
#define LIB_OBSERVE_H

#include <stddef.h>

struct born;
struct network_run;
struct observe;
struct observer_policy;
struct observer_socket;
struct plan;
struct policy;
struct timespec;
struct view;

/* The questions about @view. @plan is what the sandbox was built from: from
 * @view itself, or from an older one after an edit. Both outlive the result.
 * What was made after @since is new.
 */
struct observe *observe_new(const struct view *view, const struct plan *plan,
			    const struct timespec *since);
/* A repository that is made in this run must work, also when @view was made in
 * the middle of it: what the walk found there is judged by its name, unless it is
 * the user's by @born, which may be NULL
 */
void observe_spare(struct view *view, const struct timespec *since,
		   const struct born *born);
void observe_free(struct observe *observe);

/* What the command wrote that a later command runs, as words for one line; "" if
 * there is nothing. @before, if it is not NULL, hands its own over.
 */
void observe_take_noted(struct observe *observe, struct observe *before);
const char *observe_noted(const struct observe *observe);

/* To hand to the observer; connect goes to @network, which may be NULL */
void observe_policy(struct observe *observe, struct network_run *network,
		    struct observer_policy *ret);

/* The Unix sockets that the policy names, as the objects they are now; not
 * through a link that a command could have planted. The caller frees.
 */
struct observer_socket *observe_sockets(const struct policy *policy,
					size_t *ret_len);

#endif /* LIB_OBSERVE_H */
