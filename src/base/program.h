/* SPDX-License-Identifier: Apache-2.0 */
/* base/program.h - the other programs of this house */

#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

/* Become our program @name: the one beside this very program, as in a build
 * directory, else the installed one; never by PATH. Returns only if there is
 * none: a negative errno.
 */
int program_exec(const char *name, char *const *argv, char *const *envp);

#endif /* BASE_PROGRAM_H */
