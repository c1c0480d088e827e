/* SPDX-License-Identifier: Apache-2.0 */
/* run/secret-source.h - processes that write the value of a secret into a pipe */

#ifndef RUN_SECRET_SOURCE_H
#define RUN_SECRET_SOURCE_H

#include <sys/types.h>

enum { SECRET_SOURCE_S = 12 }; /* Until one ends itself; cloche-tls waits 10 s */

/* Start a process that writes the value of @name as @from says ("env:X", "file:X",
 * "command:X"; NULL: from the store, else the variable). Its number in *@ret, 0 where
 * none is needed; the end of the pipe for reading, which does not block, or -errno.
 */
int secret_source_open(const char *name, const char *from, pid_t *ret);

/* End it and all that it has started, if it is still there */
void secret_source_end(pid_t pid);

#endif /* RUN_SECRET_SOURCE_H */
