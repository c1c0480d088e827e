/* SPDX-License-Identifier: Apache-2.0 */
/* report/report.h - one run's refusals on their way to ring, stream and store */

#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>

#include "report/footer.h"
#include "report/suggestion.h"
#include "report/violation.h"

struct list_rules;
struct report;
struct run_record;

enum {
	REPORT_RUN_SIZE = 27,		/* A run's id: 26 characters */
	REPORT_COMMAND_MAX = 200,	/* Bytes kept of the command line */
	REPORT_LINE_MAX = 2048,		/* A longer one is not suggested again */
};

/**
 * struct report_config - Where records go
 * @run:	The run's id (report_run_id())
 * @command:	The command line (report/command-text.h); shortened
 * @rerun:	How the run was started; its strings are copied
 * @ignores:	Rules that hide records, the caller's; or NULL
 * @stream:	Descriptor for JSON lines, or -1; the caller's
 * @take:	Gets each record that goes out, with @arg: 0, or a negative
 *		errno if it is lost; or NULL
 * @assign:	Fills in the run and the command of a record from its process, with
 *		@arg, where a sandbox has several; or NULL
 * @seen:	Gets each refusal, also the repeated ones, before the refused process goes
 *		on, with @seen_arg; or NULL
 * @store_dir:	The store's directory, or NULL for none
 * @nested:	A sandbox around this one reports as well: this one prints no note about
 *		missing reports
 */
struct report_config {
	const char *run, *command;
	struct rerun rerun;
	bool nested;
	const struct list_rules *ignores;
	int stream;
	int (*take)(void *arg, const struct violation *v);
	void (*assign)(void *arg, struct violation *v);
	void *arg;
	void (*seen)(void *arg, const struct violation *v);
	void *seen_arg;
	const char *store_dir;
};

/* A fresh id: sorts by time, 26 characters of Crockford's base 32 */
void report_run_id(char ret[REPORT_RUN_SIZE]);

/* The store is opened with the first record. If that fails, the footer has a note: a
 * missing store must not stop the command.
 */
struct report *report_new(const struct report_config *config);
void report_free(struct report *report);

/* The sink to hand out; valid as long as @report */
const struct violation_sink *report_sink(const struct report *report);

/* The policy changed: use these rules from now on; the old ones may be freed */
void report_set_ignores(struct report *report,
			const struct list_rules *ignores);

/* Add a note to the footer: refusals of some kind are not reported. @words is copied. */
void report_missing(struct report *report, const char *words);

/* After the last record: write the counts that grew since a record went out,
 * and the closing record if some were dropped
 */
void report_finish(struct report *report);

/* Store that the run lasts; or, after report_finish(), that it has ended. Of @run, the id,
 * the command and the refusals are filled in here. Nothing is reported if it cannot be
 * stored.
 */
void report_store_run(struct report *report, const struct run_record *run);

/* The command of run @end->run has ended, others go on (config.assign): store its record,
 * append its footer to @out, drop its refusals. Refusals of processes that belong to no
 * running command are shown as well, once.
 */
void report_part(struct report *report, const struct run_record *end,
		 const struct footer *how, struct buf *out);

/* The footer for stderr (report/footer.h); the run and what is missing are filled in
 * here
 */
void report_footer(const struct report *report, const struct footer *how,
		   struct buf *out);

#endif /* REPORT_REPORT_H */
