/* SPDX-License-Identifier: Apache-2.0 */
/* cage/bind.h - binds by name, in a directory that is held */

#ifndef CAGE_BIND_H
#define CAGE_BIND_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stat;

enum { BIND_HELD_MAX = 8 };	/* Directories, each in the one before */

/**
 * struct bind_dir - The directory that the last bind was in, and some above it
 * @held:	The way there: descriptors, and as names the first @len bytes of
 *		a path that was given
 * @n:		How many
 * @current:	Which of them is the current directory, plus one
 */
struct bind_dir {
	struct {
		int fd;
		const char *path;
		size_t len;
	} held[BIND_HELD_MAX];
	size_t n, current;
};

#define BIND_NOWHERE	((struct bind_dir){ .n = 0 })

/* Mount @source, which is @there, on @path, which outlives @dir; with the
 * attributes of the mount that it is in
 */
int bind_cover(struct bind_dir *dir, const char *source,
	       const struct stat *there, const char *path, struct err *err);

/* Mount @path, no symbolic link, on itself; -ESTALE if that is not @there, but
 * where @there is NULL. @source, if not NULL, is the same by another name, and
 * then @there is not NULL.
 */
int bind_self(struct bind_dir *dir, const char *source, const char *path,
	      const struct stat *there, bool read_only, struct err *err);

/* After any other mount: the names may lead elsewhere now */
void bind_forget(struct bind_dir *dir);

#endif /* CAGE_BIND_H */
