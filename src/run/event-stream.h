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
struct view;

/* @where is a descriptor that the caller holds open, else a file; NULL is
 * nowhere, -1. *@ret_owned says whether it is ours to close. 0, or a negative
 * errno with words.
 */
int events_open(const struct view *view, const char *where, int *ret_fd,
		bool *ret_owned, struct err *err);

/* No command may write the file that @where names, or put another in its place:
 * it would tell what it likes
 */
void events_protect(struct policy *policy, const char *where);

/* Make that file, if the command could: a mount needs something to hold. True if
 * it was made.
 */
bool events_make(const struct view *view, const char *where);

/* The command of @plan, as records name it */
void events_command(const struct plan *plan, struct buf *out);

/* How they are told in the end: @name is that of --annotate, which the session
 * has looked at, or NULL
 */
enum annotate_mode events_mode(const char *name);

#endif /* LIB_EVENTS_H */
