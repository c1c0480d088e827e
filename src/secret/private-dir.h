/* SPDX-License-Identifier: Apache-2.0 */
/* secret/private-dir.h - a directory of private files
 *
 * Everything goes through one directory descriptor. A directory or a file that
 * others own, can change, or (files) can read is refused, also for writing.
 */

#ifndef SECRET_PRIVATE_DIR_H
#define SECRET_PRIVATE_DIR_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;

/**
 * struct private_dir - The directory
 * @path:	For messages and for the first open
 * @fd:		Its descriptor, or -1 before the first use
 */
struct private_dir {
	char *path;
	int fd;
};

/* For the directory @path, which need not exist yet; nothing is touched */
struct private_dir *private_dir_new(const char *path);
void private_dir_free(struct private_dir *dir);

/* A descriptor of the directory, owned by @dir. With @make it is made if it is
 * missing, else that is -ENOENT; -EPERM if it is not safe to use.
 */
int private_dir_fd(struct private_dir *dir, bool make, struct err *err);

/* True if there is something called @name; nothing is made */
bool private_dir_has(struct private_dir *dir, const char *name);

/* Append the content of @name, at most @max bytes. 1, 0 if it does not exist,
 * -EPERM if it is not safe to use, -EFBIG, or another negative errno.
 */
int private_dir_read(struct private_dir *dir, const char *name, size_t max,
		     struct bytes *ret, struct err *err);

/* Replace @name by @n bytes: a crash at any point leaves the old file or the
 * new one, and one private temporary file that the next call replaces. The caller
 * holds a lock. 0 or a negative errno.
 */
int private_dir_write(struct private_dir *dir, const char *name,
		      const void *data, size_t n, struct err *err);

/* Remove @name. 1, 0 if it does not exist, or a negative errno. */
int private_dir_remove(struct private_dir *dir, const char *name,
		       struct err *err);

/* Lock @name, a file of its own that is never replaced or removed: the next
 * writer renames the data file away. A descriptor that holds the lock until it is
 * closed; -ETIMEDOUT after @ms, or another negative errno.
 */
int private_dir_lock(struct private_dir *dir, const char *name,
		     unsigned int ms, struct err *err);

#endif /* SECRET_PRIVATE_DIR_H */
