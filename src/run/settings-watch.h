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

struct err;
struct loop;
struct planted;
struct policy;
struct run;
struct settings_watch;
struct view;

enum { SETTINGS_WATCH_FILES_MAX = 256 };

/* Watch @n absolute paths, and where they lead if they are links, on @loop; @fn is
 * called, once per batch, when one of them was written, came into being or is gone. 0,
 * or a negative errno.
 */
int settings_watch_new(struct loop *loop, const char *const *files, size_t n,
		       void (*fn)(void *arg), void *arg,
		       struct settings_watch **ret);
void settings_watch_free(struct settings_watch *watch);

/* The inotify descriptor, which is slow to close; -1 if there is none */
int settings_watch_fd(const struct settings_watch *watch);

/* Watch every file that could have made the policy of @run: @fn is called with
 * @arg when one changes. *@ret_edited says whether one has changed since it was
 * read. 0 and *@ret, or a negative errno.
 */
int settings_watch_all(const struct run *run, void (*fn)(void *arg), void *arg,
		       struct settings_watch **ret, bool *ret_edited);

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

/* Print in one line what of an edit, which made @now of @before, does not count in the
 * running sandbox: paths that are unmasked, and all that is set up once (limits,
 * variables)
 */
void settings_print_deferred(const struct run *run, const struct view *before,
			     const struct view *now);

#endif /* RUN_SETTINGS_WATCH_H */
