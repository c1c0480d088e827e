/* SPDX-License-Identifier: Apache-2.0 */
/* secret/run.h - run a helper program on the loop: bytes in, bytes out
 *
 * The helper gets a clean environment (run-env.def), no descriptor but its
 * three, and its own process group. It may hang, crash or talk without end:
 * it is then killed, and the answer says which.
 */

#ifndef SECRET_RUN_H
#define SECRET_RUN_H

#include <stddef.h>

#include "base/err.h"
#include "secret/bytes.h"

struct loop;
struct run;

enum {
	RUN_WORDS_MAX = 512,	/* Of standard error, for the message */
	RUN_SLOW_MS = 1000,	/* Longer, and somebody wants to know */
};

/**
 * struct run_spec - What to run
 * @argv:	The program by its absolute path, and its arguments; NULL-ended
 * @input:	For its standard input; stays where it is until the end
 * @output_max:	Bytes of standard output before it is killed
 * @timeout_ms:	Time before it is killed
 * @slow:	Called once, after RUN_SLOW_MS; or NULL
 */
struct run_spec {
	const char *const *argv;
	const struct bytes *input;
	size_t output_max;
	unsigned int timeout_ms;
	void (*slow)(void *arg);
};

/**
 * struct run_result - How it ended
 * @r:		0 if it exited (@code) with its output complete; -ETIMEDOUT,
 *		-EMSGSIZE (too much output), -EPIPE (ended by a signal),
 *		-ENOENT (no such program), -ECANCELED, or another errno
 * @code:	Its exit status
 * @out:	Its standard output, locked; may be taken with bytes_move()
 * @words:	The first line of its standard error, safe to show
 * @err:	Why, when @r is negative
 */
struct run_result {
	int r, code;
	struct bytes out;
	char words[RUN_WORDS_MAX];
	struct err err;
};

typedef void (*run_fn)(void *arg, struct run_result *result);

/**
 * struct run_list - The helpers that are under way; zero-initialise it
 */
struct run_list {
	struct run *first;
};

/* Start it; @done is called once, perhaps before this returns */
void run_start(struct run_list *list, struct loop *loop,
	       const struct run_spec *spec, run_fn done, void *arg);

/* Kill them all and call each @done with -ECANCELED */
void run_cancel_all(struct run_list *list);

#endif /* SECRET_RUN_H */
