/* SPDX-License-Identifier: Apache-2.0 */
/* base/reap.c - children whose end takes time, and that nobody waits for */

#include "base/reap.h"

#include <stddef.h>
#include <sys/wait.h>

void reap_later(pid_t pid)
{
	static pid_t pids[REAP_MAX];

	for (size_t i = 0; i < REAP_MAX; i++) {
		if (pids[i] && waitpid(pids[i], NULL, WNOHANG) != 0)
			pids[i] = 0;
		if (!pids[i] && pid > 0) {
			pids[i] = pid;
			pid = -1;
		}
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}
