/* SPDX-License-Identifier: Apache-2.0 */
/* tests/harness/ns.c - namespaces for tests that keep the caller's user */

#include "ns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ns_put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

int ns_enter(int flags)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char uids[32], gids[32];
	int r;

	if (unshare(CLONE_NEWUSER | flags) < 0)
		return -errno;
	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	r = ns_put("/proc/self/setgroups", "deny");
	if (!r)
		r = ns_put("/proc/self/uid_map", uids);
	return r ? r : ns_put("/proc/self/gid_map", gids);
}
