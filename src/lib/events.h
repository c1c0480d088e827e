/* SPDX-License-Identifier: Apache-2.0 */
/* lib/events.h - where --events writes */

#ifndef LIB_EVENTS_H
#define LIB_EVENTS_H

#include <stdbool.h>

struct err;
struct policy;

/* @where is a descriptor that the caller holds open, else a file; NULL is
 * nowhere, -1. *@ret_owned says whether it is ours to close. 0, or a negative
 * errno with words.
 */
int events_open(const struct policy *policy, const char *where, int *ret_fd,
		bool *ret_owned, struct err *err);

#endif /* LIB_EVENTS_H */
