/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify.h - prove the boundary under the user's own policy
 *
 * Every row of verify.def is tried twice: outside, where it must succeed (the
 * positive control), and in a sandbox that `cloche run` makes with the user's
 * options and settings. The verdict is taken outside afterwards, from a fresh
 * random canary, never from what the attempt said of itself.
 */

#ifndef DOCTOR_VERIFY_H
#define DOCTOR_VERIFY_H

#include <stdbool.h>

struct buf;
struct err;
struct plan;
struct settings_report;
struct verify;
struct view;

/* Exit statuses of `cloche verify`; wrong usage is 2 as everywhere */
enum {
	VERIFY_EXIT_PASS = 0,
	VERIFY_EXIT_FAIL = 1,
	VERIFY_EXIT_UNSURE = 3,
};

/**
 * struct verify_request - Whose policy, and how thorough
 * @plan:	The user's own plan, in the user's own place
 * @settings:	The files behind it
 * @options:	Words for `cloche run`, NULL at the end; paths absolute
 * @full:	Also what takes long
 * @progress:	Say on stderr where we are
 */
struct verify_request {
	const struct plan *plan;
	const struct settings_report *settings;
	char *const *options;
	bool full, progress;
};

/* Make the scratch places: a home with secrets in it, a project, copies of the
 * settings. Nothing of the user's own is touched. 0 or a negative errno with
 * words; free also after a failure of verify_go().
 */
int verify_new(const struct verify_request *request, struct verify **ret,
	       struct err *err);

/* The project that was made, and what to change in the environment so that
 * policies are read as in it
 */
const char *verify_project(const struct verify *v);
void verify_enter(const struct verify *v);

/* Try everything; @view is the same policy in the scratch project. 0, or a
 * negative errno with words: -EINTR after a signal.
 */
int verify_go(struct verify *v, const struct view *view, struct err *err);

void verify_print(const struct verify *v, struct buf *out);
void verify_print_json(const struct verify *v, struct buf *out);
int verify_status(const struct verify *v);

/* True once a signal asked us to end: whatever failed then is no news */
bool verify_is_over(void);

/* Ends what was started, removes what was made */
void verify_free(struct verify *v);

/* In the sandbox: make the attempts of one run; @argv is what the host passed.
 * Returns an exit status.
 */
int verify_attempt(int argc, char **argv);

#endif /* DOCTOR_VERIFY_H */
