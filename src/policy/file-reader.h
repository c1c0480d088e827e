/* SPDX-License-Identifier: Apache-2.0 */
/* policy/file-reader.h - the file system calls that reading settings takes
 *
 * Settings are read through this, so that tests and fuzzers feed them from
 * memory and nothing else in policy/ opens a file.
 */

#ifndef POLICY_FILE_READER_H
#define POLICY_FILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;
struct strings;

enum {
	FILE_READER_NAMES_MAX = 4096,	/* Entries of one directory */
};

enum file_reader_kind { FILE_READER_NONE, FILE_READER_FILE, FILE_READER_DIR, FILE_READER_OTHER };

/**
 * struct file_reader - A file system to read settings from
 * @read:	Append the regular file @path, at most @max bytes, to @out. 0,
 *		-ENOENT, or another negative errno with a message.
 * @kind:	The type of the file at @path, links followed; *@owned, unless NULL,
 *		is true if it belongs to us or to root.
 * @real:	@path with all links followed, or NULL if it is not there. The
 *		caller frees.
 * @list:	The names in @dir without "." and "..", sorted by bytes. 0, -ENOENT,
 *		-ENOTDIR or -E2BIG.
 */
struct file_reader {
	int (*read)(void *arg, const char *path, size_t max, struct buf *out,
		    struct err *err);
	enum file_reader_kind (*kind)(void *arg, const char *path, bool *owned);
	char *(*real)(void *arg, const char *path);
	int (*list)(void *arg, const char *dir, struct strings *ret,
		    struct err *err);
	void *arg;
};

/* The machine's own file system */
extern const struct file_reader file_reader_files;

#endif /* POLICY_FILE_READER_H */
