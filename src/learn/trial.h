/* SPDX-License-Identifier: Apache-2.0 */
/* learn/trial.h - one run of the command in the sandbox, and what was refused in it */

#ifndef LEARN_TRIAL_H
#define LEARN_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;
struct needs;

enum {
	TRIAL_OUTPUT_MAX = 1 << 20,	/* Bytes of standard output that are compared */
	TRIAL_WORDS_MAX = 8 << 10,	/* Bytes kept of the end of standard error */
};

/**
 * struct trial - How a run ended
 * @status:	Its exit status, as a shell tells it
 * @out:	The beginning of its standard output,
 * @out_len:	and how long that was
 * @words:	The end of its standard error
 */
struct trial {
	int status;
	struct buf out, words;
	size_t out_len;
};

void trial_done(struct trial *trial);

/* True if the command did the same in both: the exit status and, if @output counts,
 * the standard output
 */
bool trial_is_same(const struct trial *a, const struct trial *b, bool output);

/* Run @argv, a cloche with the option --events 3, with an empty standard input. Its
 * refusals go to @needs, unless that is NULL. 0, or a negative errno with a message.
 */
int trial_run(char *const *argv, struct needs *needs, struct trial *ret,
	      struct err *err);

#endif /* LEARN_TRIAL_H */
