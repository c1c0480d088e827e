/* SPDX-License-Identifier: Apache-2.0 */
/* base/dir.c - the names in a directory, into a buffer that the caller reuses */

#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct dir dir_of(int fd)
{
	return (struct dir){
		.fd = fd, .room = fd < 0 ? NULL : mem_alloc(DIR_ROOM),
		.size = DIR_ROOM,
	};
}

int dir_next(struct dir *dir, struct dir_entry *ret)
{
	for (;;) {
		const struct dirent64 *entry;
		ssize_t n;

		if (dir->at == dir->len) {
			n = getdents64(dir->fd, dir->room, dir->size);
			if (n <= 0)
				return n < 0 ? -errno : 0;
			dir->at = 0;
			dir->len = (size_t)n;
		}
		entry = (const struct dirent64 *)(const void *)(dir->room +
								dir->at);
		dir->at += entry->d_reclen;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		ret->name = entry->d_name;
		ret->type = entry->d_type;
		ret->ino = entry->d_ino;
		return 1;
	}
}
