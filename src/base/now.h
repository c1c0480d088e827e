/* SPDX-License-Identifier: Apache-2.0 */
/* base/now.h - clocks, in milliseconds */

#ifndef BASE_NOW_H
#define BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* What @clock shows: CLOCK_MONOTONIC and the like */
static inline int64_t now_ms(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif /* BASE_NOW_H */
