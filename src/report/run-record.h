/* SPDX-License-Identifier: Apache-2.0 */
/* report/run-record.h - one run: command, policy, tier, refusals
 *
 * Lines of the store (report/violation-store.h) beside the refusals of the run: one while
 * the run lasts, unless it is a short one, and one when it has ended. What is stored, how
 * long and why: docs/decisions/records.md.
 */

#ifndef REPORT_RUN_RECORD_H
#define REPORT_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/violation.h"

struct buf;
struct policy;

enum { POLICY_DIGEST_SIZE = 65 };	/* SHA-256 in hexadecimal, and its end */

/**
 * struct run_record - Strings are the record's own; NULL is unknown
 * @start_ms:	Since the epoch
 * @end_ms:	Likewise; 0 in the line that is written while the run lasts, which has
 *		neither @status nor @refused
 * @run:	The run's id
 * @command:	Shortened, without what looks like a secret (report/command-text.h)
 * @project:	The directory that was writable by default, or where the command started
 * @policy:	policy_digest() of what the run started with
 * @tier:	tier_name()
 * @secrets:	NAME@HOST of secrets that were put into requests, blanks between them;
 *		never a value
 * @hosts:	HOST:PORT=CONNECTIONS/SENT/RECEIVED of those that were reached, blanks
 *		between them; not in a session, whose commands share the network
 * @limits:	NAME=USED/LIMIT of the limits that were set and are counted, likewise
 * @session:	The session that it ran in
 * @status:	The exit status
 * @pid:	The supervisor, in the line that is written while the run lasts; else 0
 * @ticks:	The start time of @pid, to tell it from a later process with that number
 * @refused:	How often, of each kind; what a rule ignores is not counted
 */
struct run_record {
	int64_t start_ms, end_ms;
	char *run, *command, *project, *policy, *tier, *secrets, *hosts, *limits, *session;
	int status;
	pid_t pid;
	uint64_t ticks;
	uint64_t refused[VIOLATION_KINDS];
};

void run_record_done(struct run_record *record);

/* Fill in @pid and @ticks for this process; both are 0 without /proc */
void run_record_set_process(struct run_record *record);

/* True if the supervisor of a run that has no end yet is still there. Without an end and
 * without a supervisor it was killed.
 */
bool run_record_is_running(const struct run_record *record);

/* One JSON line, with its newline; strings as in violation_to_json() */
void run_record_to_json(const struct run_record *record, struct buf *out);

/* The reverse: 0; or -EINVAL for anything else, also a refusal or a record of another
 * version, with *@ret untouched. Kinds that are not known are left out.
 */
int run_record_from_json(const char *line, size_t n, struct run_record *ret);

/* Two runs have the same digest if the version of cloche and the user's rules are the
 * same, whichever files these came from; the built-in rules follow from the version. The
 * values of variables and the passwords of proxies are not part of it.
 */
void policy_digest(const struct policy *policy, char ret[POLICY_DIGEST_SIZE]);

#endif /* REPORT_RUN_RECORD_H */
