/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-memory.h - a file system made of texts */

#ifndef POLICY_TEST_MEMORY_H
#define POLICY_TEST_MEMORY_H

#include "policy/file-reader.h"

/**
 * struct memory_file - A file, a directory (@text NULL), or a link to @link
 */
struct memory_file {
	char *path, *text, *link;
	bool foreign;	/* Another user's */
};

/**
 * struct memory - All files; directories above them are implied
 */
struct memory {
	struct memory_file *v;
	size_t len, cap;
};

void memory_add(struct memory *m, const char *path, const char *text);
void memory_add_link(struct memory *m, const char *path, const char *target);
/* A directory of another user */
void memory_add_foreign(struct memory *m, const char *path);
void memory_done(struct memory *m);

/* Reads from @m, which stays where it is */
struct file_reader memory_reader(struct memory *m);

#endif /* POLICY_TEST_MEMORY_H */
