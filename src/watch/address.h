/* SPDX-License-Identifier: Apache-2.0 */
/* watch/address.h - connect() and bind(): ports on demand, sockets by path
 *
 * Where an allow must be exact, letting the call go on is not enough: the
 * address could change after we looked, and so could the socket behind its
 * number. The call is then made here, on a copy of the socket and on the very
 * inode that was looked at. With Unix sockets by path that holds for every
 * connect(), of whatever family it seems to be.
 */

#ifndef WATCH_ADDRESS_H
#define WATCH_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/judge.h"
#include "watch/observer.h"
#include "watch/place.h"

struct tracee;

enum { ADDRESS_OWN_MAX = 1024 };	/* Sockets of the sandbox remembered */

/**
 * struct addresses - What may be connected to
 * @listener, @id: Who asks: only while that one waits is anything done for it.
 *		Its number may be somebody else's by now, who may be the host's.
 * @by_path:	Unix sockets need to be in @allowed or @own
 * @allowed:	The policy's
 * @own:	Bound by the sandbox itself in this run
 */
struct addresses {
	int listener;
	uint64_t id;
	bool by_path;
	struct { struct observer_socket *v; size_t len, cap; } allowed, own;
};

void addresses_done(struct addresses *a);

/**
 * struct address_answer - What becomes of the call
 * @done:	It was made here; @error is its result, 0 for success
 * @later:	If not -1: it is under way on this copy, which is the caller's
 * @judgement:	Otherwise this: goes on, or fails
 */
struct address_answer {
	bool done;
	int error, later;
	struct judgement judgement;
};

/* Answer @call (CALL_CONNECT, CALL_BIND, CALL_LISTEN) with the arguments @args of
 * @tracee. @place is room for where a path leads (place_done() it).
 */
int address_answer(struct addresses *addresses, const struct judge *judge,
		   struct tracee *tracee, const struct call *call,
		   const unsigned long long *args, struct place *place,
		   struct address_answer *ret);

/* True if a connect() with @args needs no answer but to go on: for any thread,
 * where sockets do not go by path
 */
bool address_is_served(const struct observer_policy *policy,
		       const struct tracee *tracee,
		       const unsigned long long *args);

/* The same for a bind() */
bool address_is_free(const struct observer_policy *policy,
		     const struct tracee *tracee,
		     const unsigned long long *args);

#endif /* WATCH_ADDRESS_H */
