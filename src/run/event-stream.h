/* SPDX-License-Identifier: Apache-2.0 */
/* run/event-stream.h - the file or descriptor of --events */

#ifndef RUN_EVENT_STREAM_H
#define RUN_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct policy;
struct view;

/* @where is a descriptor that the caller holds open, of which we get a copy, else a
 * file; NULL is nowhere, -1. 0, or a negative errno with a message.
 */
int event_stream_open(const struct view *view, const char *where, int *ret,
		      struct err *err);

/* No command may write the file that @where names, or put another in its place:
 * it could forge the record
 */
void event_stream_protect(struct policy *policy, const char *where);

/* Make that file, if the command could: a mount needs something to hold. True if
 * it was made.
 */
bool event_stream_make(const struct view *view, const char *where);

#endif /* RUN_EVENT_STREAM_H */
