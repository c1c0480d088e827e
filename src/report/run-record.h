/* SPDX-License-Identifier: Apache-2.0 */
/* report/run-record.h - one run that has ended: command, policy, tier, refusals
 *
 * A line of the store (report/violation-store.h) beside the refusals of the run. What is
 * kept, how long and why: docs/decisions/records.md.
 */

#ifndef REPORT_RUN_RECORD_H
#define REPORT_RUN_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "report/violation.h"

struct buf;
struct policy;

enum { POLICY_DIGEST_SIZE = 65 };	/* SHA-256 in hexadecimal, and its end */

/**
 * struct run_record - Strings are the record's own; NULL is unknown
 * @start_ms, @end_ms: Since the epoch
 * @run:	The run's id
 * @command:	Shortened, without what looks like a secret (report/command-text.h)
 * @project:	The directory that was writable by default, or where the command started
 * @policy:	policy_digest() of what the run started with
 * @tier:	tier_name()
 * @status:	The exit status
 * @refused:	How often, of each kind; what a rule ignores is not counted
 */
struct run_record {
	int64_t start_ms, end_ms;
	char *run, *command, *project, *policy, *tier;
	int status;
	uint64_t refused[VIOLATION_KINDS];
};

void run_record_done(struct run_record *record);

/* The refusals of all kinds */
uint64_t run_record_refusals(const struct run_record *record);

/* One JSON line, with its newline; strings as in violation_to_json() */
void run_record_to_json(const struct run_record *record, struct buf *out);

/* The reverse: 0; or -EINVAL for anything else, also a refusal or a record of another
 * version, with *@ret untouched. Kinds that are not known are left out.
 */
int run_record_from_json(const char *line, size_t n, struct run_record *ret);

/* Equal if the same version of cloche had the same rules of the user's, at the same paths,
 * whichever files they came from; our own rules follow from the version. The values of
 * variables and the passwords of proxies do not go into it.
 */
void policy_digest(const struct policy *policy, char ret[POLICY_DIGEST_SIZE]);

#endif /* REPORT_RUN_RECORD_H */
