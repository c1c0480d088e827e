/* SPDX-License-Identifier: Apache-2.0 */
/* lib/session.h - options to policy, view and plan: all that precedes a run */

#ifndef LIB_SESSION_H
#define LIB_SESSION_H

#include <stdbool.h>

struct cage;
struct err;
struct killed;
struct listener_set;
struct options;
struct plan;
struct policy;
struct settings_report;
struct view;
struct walk_cache;

/**
 * struct session - One run's decisions
 * @tmpdir:	The private /tmp on the host, or NULL: a fresh one
 * @walked:	What is known of the directories, or NULL
 * @killed:	What earlier runs left, or NULL; the caller's
 * @ahead:	The sandbox that was begun before the plan, or NULL; the caller's
 * @proxies:	In the landlock tier: the sockets of the gate, or NULL
 * @report:	What the settings files ask for, among other things
 * @git_config:	In profile home: the content of ~/.gitconfig
 */
struct session {
	struct policy *policy;
	struct view *view;
	struct plan *plan;
	char *tmpdir;
	struct walk_cache *walked;
	struct killed *killed;
	struct cage *ahead;
	struct listener_set *proxies;
	char *git_config;
	char *const *env;	/* Of the options */
	struct settings_report *report;
};

/* Read the settings, apply @options, look at the file system, make the plan
 * for @argv (may be empty for explain). 0, or a negative errno with words;
 * nothing was changed or started.
 */
int session_open(const struct options *options, char *const *argv,
		 struct session *ret, struct err *err);
/* Where this program is, for those inside who call it; @path must stay. A link
 * is followed when it is needed. Without it the command gets none.
 */
void session_set_program(const char *path);
void session_done(struct session *session);

/* The view of @policy, edited since, for the sandbox that runs: with all that the
 * command and the tier add
 */
int session_view(const struct session *session, struct policy *policy,
		 struct view **ret, struct err *err);

/* Only the policy: what `cloche policy` asks about */
int session_policy(const struct options *options, struct policy **ret,
		   struct err *err);

/* The policy of a run: the same, and the caller's own $HTTP_PROXY, which may
 * hold a password and is nothing to show. @report may be NULL.
 */
int session_run_policy(const struct options *options, struct policy **ret,
		       struct settings_report *report, struct err *err);

/* As session_policy(), and what there is to tell about the settings
 * (policy/settings.h); with @check every error is told instead of stopping at
 * the first
 */
int session_policy_report(const struct options *options, bool check,
			  struct policy **ret, struct settings_report *report,
			  struct err *err);

#endif /* LIB_SESSION_H */
