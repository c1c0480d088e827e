/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/bind.h - binds by name, in a directory that stays open */

#ifndef SANDBOX_BIND_H
#define SANDBOX_BIND_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stat;

/**
 * struct bind_dir - The directory that the last bind was in, also the current one
 * @fd:		It, or -1
 * @path:	Its name: the first @len bytes of a path that was given
 */
struct bind_dir {
	int fd;
	const char *path;
	size_t len;
};

#define BIND_NOWHERE	((struct bind_dir){ .fd = -1 })

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

#endif /* SANDBOX_BIND_H */
