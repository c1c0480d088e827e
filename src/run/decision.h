/* SPDX-License-Identifier: Apache-2.0 */
/* run/decision.h - options and settings to policy, view and plan */

#ifndef RUN_DECISION_H
#define RUN_DECISION_H

#include <stdbool.h>

struct err;
struct listener_set;
struct options;
struct plan;
struct policy;
struct run_secrets;
struct settings_report;
struct view;
struct walk_cache;

/**
 * struct decision - What was decided for one run
 * @options:	The caller's
 * @tmpdir:	The private /tmp on the host, or NULL: a fresh one
 * @walked:	What is known of the project's directories, or NULL
 * @proxies:	In the landlock tier: the sockets of the gate, or NULL
 * @git_config:	In profile home: the content of ~/.gitconfig
 * @secrets:	Bound secrets, or NULL
 * @report:	What the settings files ask for, among other things
 */
struct decision {
	const struct options *options;
	struct policy *policy;
	struct view *view;
	struct plan *plan;
	char *tmpdir;
	struct walk_cache *walked;
	struct listener_set *proxies;
	char *git_config;
	struct run_secrets *secrets;
	struct settings_report *report;
};

/* Read the settings, apply @options, look at the file system, make the plan
 * for @argv (may be empty for explain). 0, or a negative errno with a message;
 * nothing was changed or started.
 */
int decision_make(const struct options *options, char *const *argv,
		 struct decision *ret, struct err *err);
/* Where this program is, for commands inside that call it; @path must stay. A link
 * is followed when it is needed. Without it the command gets none.
 */
void decision_set_program(const char *path);
void decision_done(struct decision *decision);

/* The view of @policy, edited since, for the sandbox that runs: with all that the
 * command and the tier add
 */
int decision_view(const struct decision *decision, struct policy *policy,
		 struct view **ret, struct err *err);

/* Only the policy: what `cloche policy` asks about */
int decision_policy(const struct options *options, struct policy **ret,
		   struct err *err);

/* The policy of a run: the same, and the caller's own $HTTP_PROXY, which may
 * hold a password and is nothing to show. @report may be NULL.
 */
int decision_run_policy(const struct options *options, struct policy **ret,
		       struct settings_report *report, struct err *err);

/* As decision_policy(), and notes on the settings
 * (policy/settings.h); with @check every error becomes a note instead of stopping at
 * the first
 */
int decision_policy_report(const struct options *options, bool check,
			  struct policy **ret, struct settings_report *report,
			  struct err *err);

/* Store what the walk found for the next run, if that is worth it */
void decision_keep_walk(const struct decision *decision);

/* profile-home.c - profile home: the checks, the command's program, ~/.gitconfig */

/* Refuse a $HOME that profile home cannot make empty. 0, also in other profiles; or a
 * negative errno with a message.
 */
int profile_home_check(const struct policy *policy, struct err *err);

/* Show the program of the command, if it lies in the home: @name as execvp()
 * would take it, with @path to look in
 */
void profile_home_show_command(struct view *view, const char *name, const char *path);

/* $HOME may be a symbolic link in a hidden directory: show it there */
void profile_home_show_link(struct view *view);

/* git's settings for the home inside, from the safe part of the user's own: the
 * content of ~/.gitconfig. The caller frees.
 */
char *profile_home_gitconfig(const struct policy *policy);

/* immutable-files.c - what no command may change, wherever it was installed or named: our
 * own programs, and settings files of earlier runs
 */

/* Deny writing to all of it */
void immutable_files_add(struct policy *policy);

/* Remember the file of --settings for runs that do not name it */
void immutable_files_remember(const struct options *options,
		     const struct policy *policy);

/* event-stream.c - the file or descriptor of --events */

/* @where is a descriptor that the caller holds open, of which we get a copy, else a
 * file; NULL is nowhere, -1. 0, or a negative errno with a message.
 */
int event_stream_open(const struct view *view, const char *where, int *ret,
		      struct err *err);

/* No command may write the file that @where names, or put another in its place:
 * it could forge the record
 */
void event_stream_protect(struct policy *policy, const char *where);

/* Make that file, if the command could: a mount needs something to hold. True if
 * it was made.
 */
bool event_stream_make(const struct view *view, const char *where);

#endif /* RUN_DECISION_H */
