/* SPDX-License-Identifier: Apache-2.0 */
/* cage/child.h - the sandbox's init, from clone() to the command's end */

#ifndef CAGE_CHILD_H
#define CAGE_CHILD_H

#include "cage/stages.h"

/* Build the cage, run the command with signal mask @mask (a sigset_t), report
 * over @socket. Runs as process 1 of the new pid namespace.
 */
void child_main(const struct cage_request *request, const void *mask,
		int socket)
	__attribute__((noreturn));

/* init.c: run the command and stay until it has ended */
void init_run(const struct cage_request *request, const void *mask,
	      int socket)
	__attribute__((noreturn));

/* Report and end: nothing has run. @status is 125, 126 or 127. */
void child_fail(int socket, int status, const char *text)
	__attribute__((noreturn));

#endif /* CAGE_CHILD_H */
