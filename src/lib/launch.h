/* SPDX-License-Identifier: Apache-2.0 */
/* lib/launch.h - start the program that supervises a run */

#ifndef LIB_LAUNCH_H
#define LIB_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct cloche_run_options;
struct cloche_sandbox;

/* Start it with @socket (which stays the caller's); @ask: somebody answers
 * questions. 0 and *@ret, or a negative errno with words in @sandbox.
 */
int launch_supervisor(struct cloche_sandbox *sandbox,
		     const struct cloche_run_options *options, bool ask,
		     int socket, pid_t *ret);

#endif /* LIB_LAUNCH_H */
