/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify.h - one verification, as its parts see it */

#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <stdint.h>

#include "run/options.h"
#include "verify/world.h"

struct buf;
struct err;
struct plan;
struct settings_report;
struct view;

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
 * @program:	The cloche to verify
 * @own:	The user's options
 * @words:	The same for `cloche run`, NULL at the end; paths absolute
 * @full:	Also what takes long
 * @plan:	The user's own plan, in the user's own directory
 * @settings:	The files behind it
 * @view:	The same policy in the scratch project
 * @saved:	The caller's variables that change meanwhile
 * @parent:	Where scratch directories are made
 * @exe:	cloche-verify, at a path that the sandbox shows
 * @started:	The main sandbox ran to its end
 * @survived:	Something in it lived on
 * @ms:		How long everything took
 */
struct verify {
	const char *program;
	struct options own;
	struct { char **v; size_t len, cap; } words;
	bool full;
	int json;
	const struct plan *plan;
	const struct settings_report *settings;
	const struct view *view;
	char *saved[VERIFY_SAVED];
	char parent[PATH_MAX], exe[PATH_MAX];
	struct target target;
	struct verify_result *results;
	bool started, survived;
	uint64_t ms;
	char failure[WHY_MAX / 2];
	unsigned int counts[VERDICTS];
};

/* WHEN_* of the rows that are asked for */
static inline int verify_when(const struct verify *v)
{
	return v->full ? WHEN_QUICK | WHEN_FULL : WHEN_QUICK;
}

/* True once a signal asked us to end: what failed then is no news */
bool verify_is_over(void);
/* The scratch project */
const char *verify_project(const struct verify *v);
/* Copy a program to a new file */
int verify_copy(const char *from, const char *to, struct err *err);
/* In a child: the caller's environment and directory, but for state and caches */
void verify_go_home(const struct verify *v);

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
/* One row's sandbox in the user's own directory, with @feed to read */
int verify_own_run(struct verify *v, size_t number, const struct buf *feed,
		   struct err *err);

/* verify-own.c: the user's own files, by the user's own rules */
int verify_own(struct verify *v, struct err *err);


/* verify-inside.c: put what a sandbox reported into the results */
void verify_take_report(struct verify *v, char *text, size_t n);

/* verify-proof.c: did the attempt of @row work, as far as the host can tell?
 * @view is the policy of the scratch project, or NULL.
 */
bool proof_hit(struct target *t, const struct view *view, size_t number,
	       const struct verify_row *row, const struct found *f);

/* verify-verdict.c: all verdicts, from what is known by then */
void verify_judge(struct verify *v);

/* verify-print.c */
void verify_print(const struct verify *v, struct buf *out);
void verify_print_json(const struct verify *v, struct buf *out);

/* verify-inside.c, in the sandbox: make the attempts of one run; @argv is what the
 * host passed. Returns an exit status.
 */
int verify_attempt(int argc, char **argv);

#endif /* VERIFY_VERIFY_H */
