/* SPDX-License-Identifier: Apache-2.0 */
/* lib/edits.h - the settings files of a run, watched for edits */

#ifndef LIB_EDITS_H
#define LIB_EDITS_H

#include <stdbool.h>

struct born;
struct err;
struct live;
struct options;
struct plan;
struct policy;
struct view;

/* 0, or a negative errno with words if @policy has a settings file of the user's in a
 * place that the command can write (by @born; NULL: any place) which is not as it was in @old,
 * nor what cloche itself wrote: that decides nothing in this run.
 */
int edits_check_own(const struct policy *old, const struct policy *policy,
		    const char *state, const struct born *born,
		    struct err *err);

/* Watch every file that could have made @policy: @fn is called with @arg when
 * one changes. *@ret_edited says whether one has changed since it was read.
 * 0 and *@ret, or a negative errno.
 */
int edits_watch(const struct options *options, const struct policy *policy,
		void (*fn)(void *arg), void *arg, struct live **ret,
		bool *ret_edited);

/* An edit is often heard of late, and then the file may be gone again; or the
 * edit is of another file. 0 if @policy has read all that @old was made from
 * (but for --settings, which must be there), or -ENOENT with words.
 */
int edits_check_gone(const struct policy *old, const struct policy *policy,
		     struct err *err);

/**
 * struct edits_state - The settings at one time
 */
struct edits_state {
	const struct policy *policy;
	const struct view *view;
};

/* Say in one line what of an edit does not count in the sandbox that was built by
 * @plan: paths that are shown, and all that is set up once (limits, variables)
 */
void edits_tell(const struct options *options, const struct plan *plan,
		const struct edits_state *before,
		const struct edits_state *now);

#endif /* LIB_EDITS_H */
