/* SPDX-License-Identifier: Apache-2.0 */
/* policy/reader.h - the little that settings need from a file system
 *
 * Settings are read through this, so that tests and fuzzers feed them from
 * memory and nothing else in policy/ opens a file.
 */

#ifndef POLICY_READER_H
#define POLICY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

enum {
	READER_NAMES_MAX = 4096,	/* Entries of one directory */
};

enum reader_kind { READER_NONE, READER_FILE, READER_DIR, READER_OTHER };

/**
 * struct reader_names - Entries of a directory, sorted by bytes
 */
struct reader_names {
	char **v;
	size_t len, cap;
};

/**
 * struct reader - A file system to read settings from
 * @read:	Append the regular file @path, at most @max bytes, to @out. 0,
 *		-ENOENT, or another negative errno with words.
 * @kind:	What stands at @path, links followed; *@owned says whether it is
 *		ours or root's. @owned may be NULL.
 * @real:	@path with all links followed, or NULL if it is not there. The
 *		caller frees.
 * @list:	The names in @dir without "." and "..". 0, -ENOENT, -ENOTDIR
 *		or -E2BIG.
 */
struct reader {
	int (*read)(void *arg, const char *path, size_t max, struct buf *out,
		    struct err *err);
	enum reader_kind (*kind)(void *arg, const char *path, bool *owned);
	char *(*real)(void *arg, const char *path);
	int (*list)(void *arg, const char *dir, struct reader_names *ret,
		    struct err *err);
	void *arg;
};

/* The machine's own file system */
extern const struct reader reader_files;

void reader_names_done(struct reader_names *names);

#endif /* POLICY_READER_H */
