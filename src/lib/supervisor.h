/* SPDX-License-Identifier: Apache-2.0 */
/* lib/supervisor.h - run a planned command to its end */

#ifndef LIB_SUPERVISOR_H
#define LIB_SUPERVISOR_H

struct err;
struct options;
struct session;

enum {
	EXIT_TIMED_OUT = 124,
	EXIT_NOT_BUILT = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* Run it: the exit status to give to our caller, or a negative errno with
 * words if the sandbox could not be built (then nothing ran).
 */
int supervisor_run(const struct session *session,
		   const struct options *options, struct err *err);

#endif /* LIB_SUPERVISOR_H */
