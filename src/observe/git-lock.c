/* SPDX-License-Identifier: Apache-2.0 */
/* observe/git-lock.c - stop git before it updates half of a work tree */

#include "observe/git-lock.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "observe/notification.h"

static bool is_in_git(const char *path)
{
	return strstr(path, "/.git/") || !strncmp(path, ".git/", 5);
}

void git_lock_note(struct git_lock *lock, const struct notification *q, pid_t pid,
		   const char *path)
{
	if (q->reads || q->quiet || !*path)
		return;
	if (!is_in_git(path)) {
		lock->changes++;
	} else if (!strcmp(path_base(path), "index.lock")) {
		lock->at = lock->changes;
		lock->pid = q->what == CALL_OPEN && q->flags & O_CREAT ? pid : 0;
	}
}

static bool is_git(pid_t pid)
{
	char link[32], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	return !strcmp(path_base(exe), "git");
}

bool git_lock_stop(const struct git_lock *lock, pid_t pid, const char *path)
{
	return lock->pid == pid && lock->at == lock->changes &&
	       !is_in_git(path) && is_git(pid) && kill(pid, SIGTERM) == 0;
}
