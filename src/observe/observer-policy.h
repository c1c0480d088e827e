/* SPDX-License-Identifier: Apache-2.0 */
/* observe/observer-policy.h - the observer's policy, decided by the view */

#ifndef OBSERVE_OBSERVER_POLICY_H
#define OBSERVE_OBSERVER_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "observe/observer-config.h"
#include "plan/fuse-mask.h"

struct planted;
struct plan;
struct policy;
struct timespec;
struct view;
struct violation;

/* The policy of @view. @plan is what the sandbox was built from: from
 * @view itself, or from an older one after an edit. Both outlive the result.
 * @store: where --ephemeral keeps changes, or NULL. What was made after @since is
 * new.
 */
struct observer_rules *observer_rules_new(const struct view *view, const struct plan *plan,
			    const char *store, const struct timespec *since);
/* A repository that is made in this run must work, also when @view was made in
 * the middle of it: what the walk found there is decided by its name, unless it is
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

/* True if a gpg has made a new keyring: it found none in the sandbox's own ~/.gnupg */
bool observer_rules_made_keyring(const struct observer_rules *rules);

/* True if @path, absolute, is in the home of another user */
bool observer_rules_is_foreign(const struct observer_rules *rules, const char *path);

/* True if it is in a store of cloche's own */
bool observer_rules_is_ours(const struct observer_rules *rules, const char *path);

/* What may be done with @path, absolute and real, from inside */
void observer_rules_verdict(struct observer_rules *rules, enum observer_op op,
			    const char *path, struct observer_verdict *ret);

/* May a directory or a link, which stands at @what, or is to be made (NULL), have the
 * name @path? For what the verdicts allow by both names.
 */
void observer_rules_check_move(struct observer_rules *rules, const char *what,
			       const char *path, struct observer_verdict *ret);

/* Some rules are patterns, so observer_rules_check_move() must be called for every
 * directory that is moved
 */
bool observer_rules_has_patterns(const struct observer_rules *rules);

/* Cheap: true only if the text of @path is in a writable root and no rule could deny a
 * name in it. From any thread.
 */
bool observer_rules_is_fast(const struct observer_rules *rules, const char *path);

/* True if @path is in a root that was granted after the start, so that mounts and Landlock
 * refuse it, or is on a @read_only mount although it is allowed: the observer makes the
 * call (observe/emulate.h)
 */
bool observer_rules_needs_emulation(const struct observer_rules *rules,
				    const char *path, bool read_only);

/* Allow writing to @path, which no rule mentions, until this is called with NULL. The
 * string stays the caller's.
 */
void observer_rules_allow_once(struct observer_rules *rules, const char *path);

/* @from is to replace @to, which is refused: true if that was done in another way after
 * all (git's settings)
 */
bool observer_rules_replace(struct observer_rules *rules, const char *from,
			    const char *to);

/* A symbolic link from @path to @target was refused: true if it was made after all */
bool observer_rules_link(const struct observer_rules *rules, const char *target,
			 const char *path);

/* The observer has made the file @path for the command, open as @fd */
void observer_rules_made(struct observer_rules *rules, const char *path, int fd);

/* True if what stands at @path may not be moved or removed; where there are mounts, they
 * see to that
 */
bool observer_rules_is_fixed(const struct observer_rules *rules, const char *path);

/* What part of a FUSE mask @path is: the observer cannot enter those */
enum fuse_mask_part observer_rules_mask(const struct observer_rules *rules,
					const char *path);

/* Name and reason of the call @nr, which the filter refuses, into @ret */
void observer_rules_describe_call(int nr, struct violation *ret);

/* The Unix sockets that the policy names, as the objects they are now; not
 * through a link that a command could have planted. The caller frees.
 */
struct observer_socket *observer_rules_sockets(const struct policy *policy,
					size_t *ret_len);

#endif /* OBSERVE_OBSERVER_POLICY_H */
