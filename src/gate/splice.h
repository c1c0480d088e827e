/* SPDX-License-Identifier: Apache-2.0 */
/* net/flow.h - bytes from one socket to another, with back-pressure
 *
 * An end is a socket in the loop, edge-triggered: it remembers what the kernel
 * said until a call finds otherwise. A flow is one direction between two ends.
 * Short transfers are copied through one buffer that all flows share; a flow
 * that turns out to be long gets a pipe and its bytes never come up to us. The
 * few that are longest get a wide one: fewer calls for the same bytes, but all
 * pipes of a user count together, so there are not many of them.
 */

#ifndef NET_FLOW_H
#define NET_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

enum {
	FLOW_HELD_MAX = 64 << 10,	/* Bytes waiting in one direction */
	FLOW_PIPE_AFTER = 128 << 10,	/* Copied before a pipe is worth it */
	FLOW_TURN_MAX = 1 << 20,	/* Moved before others have their turn */
	FLOW_WIDE = 1 << 20,		/* Bytes in a wide pipe, the kernel's */
	FLOW_WIDE_AFTER = 8 << 20,	/* Moved before a pipe is made wide */
	FLOW_WIDE_MAX = 8,		/* Wide pipes at a time, of all flows */
};

/**
 * struct end - One socket
 * @source:	Its descriptor (-1 if none) and who is told
 * @readable, @writable: As far as we know
 * @hung_up:	The kernel said that the peer will send no more
 * @eof:	We have read the last byte
 * @shut:	We have sent our last byte
 * @reset:	The kernel reported an error; what had arrived can be read
 * @failed:	A call failed: nothing moves any more
 * @watched:	It is in the loop
 */
struct end {
	struct loop_source source;
	bool readable, writable, hung_up, eof, shut, reset, failed, watched;
};

/* Put it into the loop, if there is one and it is not there yet: not before
 * there is something to wait for. What is ready then is told. 0 or a negative
 * errno.
 */
int end_watch(struct loop *loop, struct end *end);

/* A handler's first step: note what the kernel says */
void end_note(struct end *end, uint32_t events);

void end_close(struct loop *loop, struct end *end);

/* Read at most @n bytes: the count, 0 if there are none now or at the end
 * (@eof tells), or a negative errno with @failed set
 */
ssize_t end_read(struct end *end, void *p, size_t n);
/* Write: the count, 0 if there is no room now, or a negative errno */
ssize_t end_write(struct end *end, const void *p, size_t n);
/* Send no more */
void end_shut(struct end *end);

/**
 * struct flow - One direction; zero-initialise it, then flow_init()
 * @from, @to:	The ends
 * @held:	Bytes read but not written yet: @len from @off; else NULL
 * @pipe:	Or they are in here, @piped bytes; -1 without one
 * @wide, @tried: It is a wide one; it was tried, and won't be again
 * @limit:	How many bytes may still be read; UINT64_MAX for a tunnel
 * @total:	Bytes that were written
 */
struct flow {
	struct end *from, *to;
	char *held;
	size_t off, len, room;
	int pipe[2];
	size_t piped;
	bool wide, tried;
	uint64_t limit, total;
};

void flow_init(struct flow *flow, struct end *from, struct end *to);
void flow_done(struct flow *flow);

/* Append to what waits; the caller keeps it around FLOW_HELD_MAX. It is written
 * before what is in the pipe: not while @piped.
 */
void flow_hold(struct flow *flow, const void *p, size_t n);
/* Bytes that wait to be written */
size_t flow_waiting(const struct flow *flow);

/* Write what waits, as far as there is room. 0 or a negative errno. */
int flow_flush(struct flow *flow);

/* Move what can be moved, @limit and FLOW_TURN_MAX allowing. Returns the bytes
 * that were read (FLOW_TURN_MAX or more: there may be more, come back), or a
 * negative errno when the connection is broken. The end of @from is for the
 * caller to pass on.
 */
ssize_t flow_pump(struct flow *flow);

#endif /* NET_FLOW_H */
