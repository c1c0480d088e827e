/* SPDX-License-Identifier: Apache-2.0 */
/* lib/clock.h - a run's time limit */

#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdbool.h>

#include "base/loop.h"

struct err;
struct job;
struct policy;

/**
 * struct clock - Zero-initialise it, but for source.fd = -1
 * @timed_out:	It has ended the command, or the run before that began
 */
struct clock {
	struct loop_source source;
	struct loop *loop;
	const struct job *job;
	bool timed_out;
};

/* If @policy has a time limit, ask @job to end when it is over, and stop @loop
 * if that does not help. 0, or a negative errno with words.
 */
int clock_start(struct clock *clock, struct loop *loop, const struct job *job,
		const struct policy *policy, struct err *err);
void clock_done(struct clock *clock);

#endif /* LIB_CLOCK_H */
