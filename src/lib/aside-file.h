/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside-file.h - one file that was kept aside, written to the host */

#ifndef LIB_ASIDE_FILE_H
#define LIB_ASIDE_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct stat;

enum { ASIDE_NAMES_MAX = 1 << 14 };	/* Files whose other names are linked */

/**
 * struct aside_name - A file of the store that has several names
 * @dev, @ino:	In the store
 * @root, @path: What it was applied as
 * @host_dev, @host_ino: What was there then
 */
struct aside_name {
	dev_t dev;
	ino_t ino;
	const char *root;
	char *path;
	dev_t host_dev;
	ino_t host_ino;
};

struct aside_names {
	struct aside_name *v;
	size_t len, cap;
};

void aside_names_done(struct aside_names *names);

/* The directory above @path on the host, reached beneath its root */
int aside_open_parent(const char *root, const char *path, struct err *err);

/* Put the file @path, which the store has in @from with @st, to its place in @to:
 * all of it or nothing. Another name of a file that was put before is linked.
 * @root outlives @names. 0 or a negative errno.
 */
int aside_put_file(struct aside_names *names, const char *root,
		   const char *path, int from, const struct stat *st, int to);

/* A directory's attributes, as far as they can be had */
void aside_put_attributes(int from, int to, const char *name);

#endif /* LIB_ASIDE_FILE_H */
