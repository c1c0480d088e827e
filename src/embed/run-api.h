/* SPDX-License-Identifier: Apache-2.0 */
/* embed/run-api.h - what is behind the handles of cloche.h */

#ifndef EMBED_RUN_API_H
#define EMBED_RUN_API_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cloche.h"
#include "run/options.h"

struct cloche_sandbox {
	struct options options;
	char *program;
	struct err err;
};

/* Copy a caller's sized struct into @to of @size bytes. Members that the caller's
 * version lacks become zero; those that this version lacks must be zero. 0, or -E2BIG.
 */
int api_copy(void *to, size_t size, const void *from);

/* The reverse: fill in the members that the caller's struct has */
void api_give(void *to, const void *from, size_t size);

/* Start the program that supervises a run, with @socket (which stays the caller's);
 * @ask: there is a handler for questions. 0 and *@ret, or a negative errno with a
 * message in @sandbox.
 */
int launch_supervisor(struct cloche_sandbox *sandbox,
		      const struct cloche_run_options *options, bool ask,
		      int socket, pid_t *ret);

#endif /* EMBED_RUN_API_H */
