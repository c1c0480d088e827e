/* SPDX-License-Identifier: Apache-2.0 */
/* base/dir.h - the names in a directory, into a buffer that the caller reuses
 *
 * readdir() allocates and clears 32 KiB per directory, which is most of what a
 * walk over many small ones would cost.
 */

#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

enum { DIR_ROOM = 32 << 10 };	/* A good size for the buffer */

/**
 * struct dir - One reading; fd and buffer are the caller's
 * @fd:		An open directory
 * @room:	Aligned for a struct of 8-byte members
 * @size:	Bytes of @room
 */
struct dir {
	int fd;
	char *room;
	size_t size;
	size_t at, len;
};

/**
 * struct dir_entry - One name; valid until the next call
 * @type:	DT_DIR and the like
 * @ino:	Of a mount point, that of the directory below it
 */
struct dir_entry {
	const char *name;
	unsigned char type;
	ino_t ino;
};

/* A reading of @fd with a buffer of its own, for auto_dir; none for -1 */
struct dir dir_of(int fd);

static inline void dir_donep_(struct dir *dir)
{
	const int saved = errno;

	free(dir->room);
	errno = saved;
}

#define auto_dir	__attribute__((cleanup(dir_donep_)))

/* The next name, "." and ".." left out: 1, 0 at the end, or a negative errno */
int dir_next(struct dir *dir, struct dir_entry *ret);

#endif /* BASE_DIR_H */
