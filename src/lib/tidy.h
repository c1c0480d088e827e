/* SPDX-License-Identifier: Apache-2.0 */
/* lib/tidy.h - a fresh home stays as it was: no empty .cache, .config, .local
 *
 * Several parts keep something in the XDG directories while a run lasts. Those
 * that were not there before, and are empty afterwards, go again.
 */

#ifndef LIB_TIDY_H
#define LIB_TIDY_H

#include <stddef.h>

enum { TIDY_MAX = 16 };

/**
 * struct tidy - The directories that were missing, deepest first
 */
struct tidy {
	char *missing[TIDY_MAX];
	size_t len;
};

/* Before anything is made */
void tidy_open(struct tidy *tidy);
/* After everything of ours is gone again */
void tidy_close(struct tidy *tidy);

#endif /* LIB_TIDY_H */
