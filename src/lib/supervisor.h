/* SPDX-License-Identifier: Apache-2.0 */
/* lib/supervisor.h - run a planned command to its end */

#ifndef LIB_SUPERVISOR_H
#define LIB_SUPERVISOR_H

struct err;
struct options;
struct session;

/* Run it: the exit status to give to our caller (plan/exit.h), or a negative
 * errno with words if the sandbox could not be built (then nothing ran).
 */
int supervisor_run(const struct session *session,
		   const struct options *options, struct err *err);

#endif /* LIB_SUPERVISOR_H */
