/* SPDX-License-Identifier: Apache-2.0 */
/* run/exec-error.h - find a program, and the rule that prevented its
 * start
 */

#ifndef RUN_EXEC_ERROR_H
#define RUN_EXEC_ERROR_H

struct err;
struct plan;

/* Where execvp() would find @name, with @path as $PATH or NULL; NULL if nowhere. The
 * caller frees.
 */
char *exec_error_find(const char *name, const char *path, const char *cwd);

/* @err says that the command could not be started: add the rule that hides it,
 * or what it is started with, if there is one; or -c, if it was meant for a shell.
 * @options: those of the run, as words of a shell, each behind a blank
 */
void exec_error_explain(const struct plan *plan, const char *options, struct err *err);

#endif /* RUN_EXEC_ERROR_H */
