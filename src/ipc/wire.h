/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/wire.h - how the library starts the program, and their messages
 *
 * `cloche embedded PID`, where PID is the process that uses the library. The
 * command's environment (how many variables, or EMBED_OWN_ENV, then these), the
 * options and the command come in a file without a name, each string ended by a
 * NUL, as `cloche run` has them: no other process reads them from /proc.
 *
 * Messages go over a stream socket: the length of what follows, the verb, and
 * strings that end with a NUL each. Either side reads only what it has a buffer
 * for and never waits for the other.
 */

#ifndef IPC_WIRE_H
#define IPC_WIRE_H

#include "base/buf.h"
#include "base/loop.h"

#define WIRE_PROTOCOL "2"
#define EMBED_VERB "embedded"
#define EMBED_OWN_ENV "-"	/* The command has the supervisor's */

enum {
	EMBED_SOCKET = 3,
	EMBED_WORDS = 4,
	EMBED_WORDS_MAX = 16 << 20,	/* Bytes of all that */
};

enum {
	WIRE_FRAME_MAX = 2 << 20,	/* Bytes of one message */
	WIRE_QUEUE_MAX = 4 << 20,	/* Bytes that wait for a slow reader */
	WIRE_WORDS_MAX = 9,
};

enum wire_verb {
#define WIRE(id, words) WIRE_##id,
#include "ipc/wire.def"
#undef WIRE
	WIRE_VERBS,
};

/**
 * struct wire - One end; wire_init() it
 * @loop:	NULL while this side does not wait for messages
 * @take:	A message; it has as many words as its row says
 * @gone:	The other end is closed, or made no sense; called once
 */
struct wire {
	struct loop *loop;
	struct loop_source source;
	struct buf in, out;
	void (*take)(void *arg, enum wire_verb verb, const char *const *words);
	void (*gone)(void *arg);
	void *arg;
};

/* @fd is taken over and becomes non-blocking */
void wire_init(struct wire *wire, int fd);
void wire_done(struct wire *wire);

/* Wait for messages on @loop, from now on; and no more */
int wire_attach(struct wire *wire, struct loop *loop);
void wire_detach(struct wire *wire);

/* Send now, or as soon as the socket takes it. 0, -ENOBUFS if too much waits already
 * (but never for how it ended), -EMSGSIZE, or -EPIPE.
 */
int wire_send(struct wire *wire, enum wire_verb verb,
	      const char *const *words);

/* Wait until everything is sent, the other end is closed, or @until is readable
 * (a pidfd: the process that should read it has ended)
 */
void wire_flush(struct wire *wire, int until);

#endif /* IPC_WIRE_H */
