/* SPDX-License-Identifier: Apache-2.0 */
/* lib/tmpdir.h - the private /tmp of a project, kept between its runs */

#ifndef LIB_TMPDIR_H
#define LIB_TMPDIR_H

#include <stdbool.h>

#include <stdbool.h>

struct err;

/**
 * struct tmpdir - One run's hold on it
 * @path:	Its place on the host, or NULL
 * @lock:	Held, shared, while the run lasts
 * @made_cache:	There was no cache directory before
 */
struct tmpdir {
	char *path;
	int lock;
	bool made_cache;
};

/* Where the directory of the project @cwd is, below @cache (the user's cache
 * directory). What is @shown is not below our own directories, which no
 * command may see. The caller frees.
 */
char *tmpdir_path(const char *cache, const char *cwd, bool shown);

/* Make or reuse @path, made by tmpdir_path(). 0, or a negative errno with
 * words.
 */
int tmpdir_open(const char *path, struct tmpdir *ret, struct err *err);

/* Let go of it. It is kept for the next run; only where there was no cache
 * directory at all, and nothing was left in it, it goes again.
 */
void tmpdir_close(struct tmpdir *tmp);

#endif /* LIB_TMPDIR_H */
