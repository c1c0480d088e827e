/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-watched.h - a child whose calls an observer is asked about
 *
 * The child lives in user and mount namespaces of its own. Below test_dir():
 * work/ is writable, out/ is a read-only mount (the floor), work/fixed is a
 * file under a read-only bind. The policy: work/ may be written, but nothing
 * whose name is "fixed", ".mcp.json", ".vscode" or ends in ".deny".
 */

#ifndef OBSERVE_TEST_WATCHED_H
#define OBSERVE_TEST_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "observe/observer.h"
#include "observe/test-rules.h"
#include "report/violation.h"

enum { WATCHED_MAX = 256 };	/* Records kept */

/**
 * struct watched - How it is run, and what came of it
 * @config, @rules: What is not NULL or 0 is used
 * @slow:	No quick way
 * @no_filter:	No listener: what the kernel answers by itself
 * @v, @len:	The records
 * @status:	Of the child
 */
struct watched {
	struct observer_config config;
	struct observer_rules rules;
	bool slow, no_filter;
	struct violation v[WATCHED_MAX];
	size_t len;
	struct observer_stats stats;
	int status;
};

/* Run @fn in the child, which starts in work/; its return is the child's exit
 * status. Skips the test where there are no user namespaces.
 */
void watched_run(struct watched *w, int (*fn)(void *arg), void *arg);

/* The only record, or the test fails */
const struct violation *watched_only(const struct watched *w);

#endif /* OBSERVE_TEST_WATCHED_H */
