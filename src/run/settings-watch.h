/* SPDX-License-Identifier: Apache-2.0 */
/* run/settings-watch.h - settings files that change while a command runs
 *
 * Their directories are watched, so that atomic saves count, and the nearest
 * directory that exists, so that a file made later counts too. A file that
 * is removed counts after a moment: an editor does that on its way. Where the
 * user has no inotify watches left, the files are polled instead.
 */

#ifndef RUN_SETTINGS_WATCH_H
#define RUN_SETTINGS_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct decision;
struct err;
struct planted;
struct policy;
struct settings_watch;
struct view;

enum { SETTINGS_WATCH_FILES_MAX = 256 };

/* Watch @n absolute paths, and where they lead if they are links; @fn is called,
 * once per batch, when one of them was written, came into being or is gone. 0, or
 * a negative errno.
 */
int settings_watch_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct settings_watch **ret);
void settings_watch_free(struct settings_watch *live);

/* For the loop: EPOLLIN. It may be another one after settings_watch_dispatch(), which has
 * closed the old one then.
 */
int settings_watch_fd(const struct settings_watch *live);
void settings_watch_dispatch(struct settings_watch *live);

/* Watch every file that could have made the policy of @decision: @fn is called with
 * @arg when one changes. *@ret_edited says whether one has changed since it was
 * read. 0 and *@ret, or a negative errno.
 */
int settings_watch_all(const struct decision *decision, void (*fn)(void *arg),
		       void *arg, struct settings_watch **ret, bool *ret_edited);

/* 0; or -EPERM with a message if a settings file of the user's in @policy lies where the
 * command can write (by @planted; NULL: anywhere) and holds neither what it held
 * in @old nor what cloche wrote: that decides nothing in this run.
 */
int settings_check_own(const struct policy *old, const struct policy *policy,
		       const char *state, const struct planted *planted,
		       struct err *err);

/* 0 if @policy has read every file that @old was made from (but for --settings,
 * which must exist); or -ENOENT with a message: the file may have been removed before
 * its edit was noticed
 */
int settings_check_gone(const struct policy *old, const struct policy *policy,
			struct err *err);

/**
 * struct settings_state - The settings at one time
 */
struct settings_state {
	const struct policy *policy;
	const struct view *view;
};

/* Print in one line what of an edit does not count in the running sandbox of
 * @decision: paths that are unmasked, and all that is set up once (limits,
 * variables)
 */
void settings_print_deferred(const struct decision *decision,
			     const struct settings_state *before,
			     const struct settings_state *now);

#endif /* RUN_SETTINGS_WATCH_H */
