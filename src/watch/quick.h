/* SPDX-License-Identifier: Apache-2.0 */
/* watch/quick.h - the questions that need no look-up */

#ifndef WATCH_QUICK_H
#define WATCH_QUICK_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct name;
struct observer_config;
struct observer_policy;
struct question;
struct ways;

enum {
	QUICK_DIRS = 256,	/* Directories remembered */
	QUICK_LIFE_MS = 200,	/* For how long */
	QUICK_SHADOW_MS = 2000,	/* Not, after a call that can place a link */
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
 * @ways, @no_mounts: See struct observer_config
 * @moved_ms:	When a call that can place a link was last asked about, or
 *		answered; 0 if never
 */
struct quick {
	int root;
	const struct ways *ways;
	bool no_mounts;
	_Atomic int64_t moved_ms;
	struct seen_dir dirs[QUICK_DIRS];
};

void quick_init(struct quick *quick, const struct observer_config *config);
void quick_done(struct quick *quick);

/* 1 if the call in @q, whose names were read, may go on without another look,
 * -ENOENT if that must be its answer, 0 if it needs a longer look
 */
int quick_answers(struct quick *quick, const struct observer_policy *policy,
		  const struct question *q, const struct name *names);

/* What a call opens that names /dev/null or /dev/tty: a descriptor to hand in,
 * -ENXIO for it to hear, or another negative errno if it needs a longer look.
 * Nothing else can be opened that way, whatever the text is when the kernel reads
 * it.
 */
int quick_device(struct quick *quick, const struct question *q,
		 const struct name *names);

/* Before @call goes on; from any thread */
void quick_note(struct quick *quick, const struct call *call);

/* True if @q moves or links a file, which takes no link anywhere: whoever puts
 * one in its place meanwhile asks for that. Else quick_note() is due.
 */
bool quick_moves_file(struct quick *quick, const struct question *q,
		      const struct name *names);

/* True unless a call that quick_note() was for may not be over */
bool quick_is_still(const struct quick *quick, int64_t now);

/* CLOCK_MONOTONIC_COARSE */
int64_t quick_now_ms(void);

#endif /* WATCH_QUICK_H */
