/* SPDX-License-Identifier: Apache-2.0 */
/* run/approval.h - the user's approvals of what repositories' settings request
 *
 * One file in the state directory, which no sandbox sees. A record belongs to a
 * repository (the git directory of its main checkout, or a directory) or to a
 * file of --settings, and lists what was approved (policy/asks.h).
 */

#ifndef RUN_APPROVAL_H
#define RUN_APPROVAL_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/settings.h"

struct err;

/* The file; NULL without a home. The caller frees. */
char *approvals_path(void);

/* Read the records, as they are now, into a reference of the caller's; NULL if they
 * cannot be read: that approves nothing
 */
json_t *approvals_read(void);

/* For settings_request: @arg is what approvals_read() returned. The first use of a file
 * of --settings is its approval.
 */
bool approvals_allow(void *arg, enum authority authority, const char *id,
		     const char *line);

/* Keep what @source asks for; with @added only that, beside what was kept before */
int approvals_keep(const struct settings_source *source,
		   const struct asks *added, struct err *err);

/* Keep what a repository's files ask for since @before, if it is for @value, which the
 * user wrote
 */
int approvals_keep_new(const struct settings_report *before,
		       const struct settings_report *after,
		       const struct policy *policy, const char *value,
		       struct err *err);

/* Keep what the files of --settings ask for that are used for the first time */
int approvals_keep_first(const struct settings_report *report,
			 struct err *err);

/* Remove the records for which @drop is true. How many, or a negative errno. */
int approvals_remove(bool (*drop)(void *arg, const char *id), void *arg,
		     struct err *err);

/* ".cloche.json asks for 2 hosts and 1 path; review: cloche trust", or NULL if
 * nothing waits. The caller frees.
 */
char *approvals_note(const struct settings_report *report);

#endif /* RUN_APPROVAL_H */
