/* SPDX-License-Identifier: Apache-2.0 */
/* cage/idmap.c - the user namespace knows one user and one group: ours */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/stages.h"

static int write_at(int dir, const char *name, const char *text,
		    struct err *err)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return fail_errno(err, "cannot write the sandbox's %s", name);
	return 0;
}

int idmap_write(int self, uid_t inside, uid_t outside, gid_t group_inside,
		gid_t group_outside, struct err *err)
{
	char map[64];
	int r;

	r = write_at(self, "setgroups", "deny", err);
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	r = write_at(self, "uid_map", map, err);
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", group_inside, group_outside);
	return write_at(self, "gid_map", map, err);
}

int stage_idmap(uid_t uid, gid_t gid, struct err *err)
{
	auto_close int self = open("/proc/self",
				   O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (self < 0)
		return fail_errno(err, "cannot open /proc/self");
	return idmap_write(self, uid, uid, gid, gid, err);
}
