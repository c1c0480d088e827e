/* SPDX-License-Identifier: Apache-2.0 */
/* lib/startable.h - where a program is found, and which rule keeps it from
 * starting
 */

#ifndef LIB_STARTABLE_H
#define LIB_STARTABLE_H

struct err;
struct session;

/* Where execvp() would find @name; NULL if nowhere. The caller frees. */
char *startable_find(const char *name, const char *path, const char *cwd);

/* @err says that the command could not be started: add the rule that hides it,
 * or what it is started with, if there is one
 */
void startable_explain(const struct session *session, struct err *err);

#endif /* LIB_STARTABLE_H */
