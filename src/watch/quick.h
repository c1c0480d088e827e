/* SPDX-License-Identifier: Apache-2.0 */
/* watch/quick.h - the questions that need no look-up */

#ifndef WATCH_QUICK_H
#define WATCH_QUICK_H

#include <stdbool.h>
#include <stdint.h>

struct name;
struct observer_policy;
struct question;

enum {
	QUICK_DIRS = 256,	/* Directories remembered */
	QUICK_LIFE_MS = 200,	/* For how long */
};

/**
 * struct seen_dir - A directory whose text leads through no link
 */
struct seen_dir {
	char *path;
	int64_t until_ms;
};

/**
 * struct quick - What was seen lately
 * @root:	The sandbox's root directory, or -1 before the first question
 */
struct quick {
	int root;
	struct seen_dir dirs[QUICK_DIRS];
};

void quick_init(struct quick *quick);
void quick_done(struct quick *quick);

/* True if the call in @q, whose names were read, may go on without another
 * look
 */
bool quick_answers(struct quick *quick, const struct observer_policy *policy,
		   const struct question *q, const struct name *names);

/* CLOCK_MONOTONIC_COARSE */
int64_t quick_now_ms(void);

#endif /* WATCH_QUICK_H */
