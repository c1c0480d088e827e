/* SPDX-License-Identifier: Apache-2.0 */
/* lib/events.h - where --events writes, and of what */

#ifndef LIB_EVENTS_H
#define LIB_EVENTS_H

#include <stdbool.h>

#include "watch/annotate.h"

struct buf;
struct err;
struct plan;
struct policy;

/* @where is a descriptor that the caller holds open, else a file; NULL is
 * nowhere, -1. *@ret_owned says whether it is ours to close. 0, or a negative
 * errno with words.
 */
int events_open(const struct policy *policy, const char *where, int *ret_fd,
		bool *ret_owned, struct err *err);

/* The command of @plan, as records name it */
void events_command(const struct plan *plan, struct buf *out);

/* How they are told in the end: @name is that of --annotate, which the session
 * has looked at, or NULL
 */
enum annotate_mode events_mode(const char *name);

#endif /* LIB_EVENTS_H */
