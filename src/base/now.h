/* SPDX-License-Identifier: Apache-2.0 */
/* base/now.h - clocks, in milliseconds */

#ifndef BASE_NOW_H
#define BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* What @clock shows: CLOCK_MONOTONIC and the like */
int64_t now_ms(clockid_t clock);

#endif /* BASE_NOW_H */
