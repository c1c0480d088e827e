/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-state.h - one verification, as its parts see it */

#ifndef DOCTOR_VERIFY_STATE_H
#define DOCTOR_VERIFY_STATE_H

#include <stdint.h>

#include "doctor/verify-world.h"
#include "doctor/verify.h"

enum verify_verdict {
	VERDICT_PASS, VERDICT_FAIL, VERDICT_INCONCLUSIVE, VERDICT_CHOICE,
	VERDICT_SKIP, VERDICTS,
};

enum { WHY_MAX = 256, VERIFY_SAVED = 7 };

/**
 * struct verify_result - Of one row
 * @asked:	It is part of this mode
 * @control:	The attempt outside succeeded
 * @own_hit:	PROOF_OWN: it worked
 * @control_error: What it said
 * @found:	What came back from inside
 * @layer:	What stopped it, a literal; "" if nothing did
 * @why:	Words for a verdict that is no pass
 */
struct verify_result {
	bool asked, control, own_hit;
	int control_error;
	struct found found;
	enum verify_verdict verdict;
	const char *layer;
	char why[WHY_MAX];
};

/**
 * struct verify - All of it
 * @saved:	The caller's variables that verify_enter() changes
 * @parent:	Where scratch directories are made
 * @exe:	This program, at a path that the sandbox shows
 * @started:	The main sandbox ran to its end
 * @survived:	Something in it lived on
 * @ms:		How long everything took
 */
struct verify {
	struct verify_request request;
	char *saved[VERIFY_SAVED];
	char parent[PATH_MAX], exe[PATH_MAX];
	struct target target;
	const struct view *view;
	struct verify_result *results;
	bool started, survived;
	uint64_t ms;
	char failure[WHY_MAX / 2];
	unsigned int counts[VERDICTS];
};

const char *verdict_name(enum verify_verdict verdict);

/* verify-control.c: try every row outside, in a world of its own. 0 or a
 * negative errno with words.
 */
int verify_controls(struct verify *v, struct err *err);

/* verify-launch.c: the sandbox with all attempts that can share one; then
 * those that need one each
 */
int verify_main_run(struct verify *v, struct err *err);
int verify_live_runs(struct verify *v, struct err *err);
int verify_refusals(struct verify *v, struct err *err);
/* One row's sandbox in the user's own place, with @n bytes to read */
int verify_own_run(struct verify *v, size_t number, const char *feed,
		   size_t n, struct err *err);

/* verify-own.c: the user's own files, by the user's own rules */
int verify_own(struct verify *v, struct err *err);

/* verify-run.c: this program, as a new file */
int verify_copy(const char *to, struct err *err);
/* verify-run.c: undo verify_enter(), but for state and caches, in a child */
void verify_go_home(const struct verify *v);

/* verify-inside.c: put what a sandbox reported into the results */
void verify_take_report(struct verify *v, char *text, size_t n);

/* verify-proof.c: did the attempt of @row work, as far as the host can tell?
 * @view is the policy of the scratch project, or NULL.
 */
bool proof_hit(struct target *t, const struct view *view, size_t number,
	       const struct verify_row *row, const struct found *f);

/* verify-judge.c: all verdicts, from what is known by then */
void verify_judge(struct verify *v);

#endif /* DOCTOR_VERIFY_STATE_H */
