/* SPDX-License-Identifier: Apache-2.0 */
/* secret/timer.h - a descriptor that becomes readable once, later */

#ifndef SECRET_TIMER_H
#define SECRET_TIMER_H

struct err;

/* A timerfd that fires once, @ms (at least 1) from now; or a negative errno */
int timer_new(unsigned int ms, struct err *err);
/* The same one again, @ms from now: 0 or a negative errno */
int timer_set(int fd, unsigned int ms);

#endif /* SECRET_TIMER_H */
