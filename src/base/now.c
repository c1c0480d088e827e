/* SPDX-License-Identifier: Apache-2.0 */
/* base/now.c - clocks, in milliseconds */

#include "base/now.h"

int64_t now_ms(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
