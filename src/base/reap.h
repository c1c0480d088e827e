/* SPDX-License-Identifier: Apache-2.0 */
/* base/reap.h - how children ended; those whose end nobody waits for */

#ifndef BASE_REAP_H
#define BASE_REAP_H

#include <sys/types.h>

enum { REAP_MAX = 64 };	/* At most so many are ending at a time */

/* Collect those that have ended since, and leave @pid, which is about to end,
 * for the next time. Waits only if too many are ending.
 */
void reap_later(pid_t pid);

/* Before we end: wait for those that are left, where nobody else might */
void reap_rest(void);

/* From now on, whom a child leaves behind is reaped by reap_rest() as well, where
 * nobody else would
 */
void reap_adopt(void);

/* A wait status as a shell tells it: 128+N for signal N */
int reap_exit_code(int status);

#endif /* BASE_REAP_H */
