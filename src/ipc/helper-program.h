/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/helper-program.h - cloche's other programs: start one, be one */

#ifndef IPC_HELPER_PROGRAM_H
#define IPC_HELPER_PROGRAM_H

/* Become our program @name: the one beside this very program, as in a build
 * directory, else the installed one; never by PATH. Returns only if there is
 * none: a negative errno.
 */
int helper_program_exec(const char *name, char *const *argv, char *const *envp);

struct err;

/* The main() of a program that cloche starts for a verb: refuse to run
 * set-user-id, then @run, which returns an exit status or a negative errno with
 * a message. Returns the exit status: 2 for an errno or lost output.
 */
int helper_program_main(int argc, char **argv,
			int (*run)(int argc, char **argv, struct err *err));

#endif /* IPC_HELPER_PROGRAM_H */
