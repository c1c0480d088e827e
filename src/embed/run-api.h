/* SPDX-License-Identifier: Apache-2.0 */
/* lib/api.h - what is behind the handles of cloche.h
 *
 * cloche_start() and cloche_run_*() are there twice behind the one public
 * header: api-run.c starts the program, which is what a library can do in
 * anybody's process; api-here.c is for that program, which supervises itself.
 */

#ifndef LIB_API_H
#define LIB_API_H

#include "base/err.h"
#include "cloche.h"
#include "lib/options.h"

struct cloche_sandbox {
	struct options options;
	char *program;
	struct err err;
};

/* Copy a caller's sized struct into @to, which has @size bytes: what the caller
 * does not know is zero, what we do not know must be. 0, or -E2BIG.
 */
int api_copy(void *to, size_t size, const void *from);

/* The other way round: fill what the caller has room for */
void api_give(void *to, const void *from, size_t size);

#endif /* LIB_API_H */
