/* SPDX-License-Identifier: Apache-2.0 */
/* observe/decide.h - decide about a call whose paths are resolved, and report it */

#ifndef OBSERVE_DECIDE_H
#define OBSERVE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/notification.h"
#include "observe/observer-config.h"
#include "report/violation.h"

struct resolved_path;

/**
 * struct decide - By what a call is decided; see struct observer_config
 */
struct decide {
	const struct observer_policy *policy;
	bool no_mounts, reads, files;
};

/**
 * struct attempt - A call and its resolved paths
 * @what:	Never CALL_OPEN_HOW or CALL_CREAT: those are CALL_OPEN
 * @flags:	Of the call: O_*, AT_*, RENAME_*
 * @from:	Where it leads; for CALL_RENAME and CALL_LINK the old name
 * @to:		For those two the new name, else NULL
 * @link, @dir:	CALL_MAKE makes a symbolic link, a directory
 * @open:	CALL_LINK links an open file, whose name @from was
 */
struct attempt {
	enum call_what what;
	uint64_t flags;
	const struct resolved_path *from, *to;
	bool link, dir, open;
};

/**
 * struct decision - The answer
 * @error:	0: the call goes on; else the errno it fails with
 * @report:	The policy refuses it; then also:
 * @kind, @path, @verdict: what was refused, where, and why
 * @path:	NULL if the policy was not consulted: the call can only fail
 * @scan:	See struct observer_verdict
 */
struct decision {
	int error;
	bool report, scan;
	enum violation_kind kind;
	const struct resolved_path *path;
	struct observer_verdict verdict;
};

/* Complete what resolved_path_find() left in @path with what the policy knows of masks
 * and mount points. @found is its result; returns the result to use instead.
 */
int decide_found(const struct decide *decide, int found, struct resolved_path *path);

struct decision decide_call(const struct decide *decide, const struct attempt *a);

/* Report to @sink that @g refuses the call in @q, with what would allow it. @name is
 * the path argument that @g->path was resolved from; @home is never suggested as a
 * whole, and may be NULL.
 */
void decide_report(const struct violation_sink *sink, const char *home,
		   const struct notification *q, const struct name *name,
		   const struct decision *g);

#endif /* OBSERVE_DECIDE_H */
