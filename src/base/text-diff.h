/* SPDX-License-Identifier: Apache-2.0 */
/* base/text-diff.h - the lines in which two texts differ */

#ifndef BASE_TEXT_DIFF_H
#define BASE_TEXT_DIFF_H

#include <stddef.h>

struct buf;

enum {
	TEXT_DIFF_CONTEXT = 3,
	/* Pairs of lines that are compared; beyond that all in between is replaced */
	TEXT_DIFF_PAIRS_MAX = 1 << 22,
};

/* Append the hunks of a unified diff from @old to @new, without file names; nothing
 * if they are equal
 */
void text_diff(const char *old, size_t old_len, const char *new, size_t new_len,
	       struct buf *out);

#endif /* BASE_TEXT_DIFF_H */
