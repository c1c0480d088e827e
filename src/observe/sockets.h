/* SPDX-License-Identifier: Apache-2.0 */
/* observe/sockets.h - connect(), bind(): ports on demand, Unix sockets by owner
 *
 * Where an allow must be exact, letting the call go on is not enough: the
 * address could change after we looked, and so could the socket behind its
 * number. The call is then made here, on a copy of the socket and on the very
 * inode that was looked at. With Unix sockets by path that holds for every
 * connect(), of whatever family it seems to be.
 *
 * A Unix socket may be connected to if the policy names it, or if it listens for
 * a process inside: the inode is recorded when listen() is called. An abstract name is
 * the sandbox's own if the network namespace is. Datagram sockets are refused: sendmsg()
 * names an address in memory, where no filter sees it, and copying every message of every
 * socket would be the price.
 */

#ifndef OBSERVE_SOCKETS_H
#define OBSERVE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "observe/decide.h"
#include "observe/nested-sandbox.h"
#include "observe/observer-config.h"
#include "observe/resolved-path.h"

struct loop;
struct tracee;

enum {
	ADDRESS_OWN_MAX = 16384,	/* Sockets of the sandbox remembered */
	ADDRESS_PINNED_MAX = 64,	/* Of them, where inodes have no birth */
	ADDRESS_PENDING_MAX = 256,	/* Connections under way */
};

/**
 * struct addresses - What may be connected to
 * @allowed:	The policy's
 * @own:	Bound by the sandbox itself in this run, to listen; @oldest: which of them is
 *		forgotten next, when there are too many
 * @pinned:	Open inodes, so that their numbers are not given to others
 * @nested:	Sandboxes inside, which may be connected to less
 * @loop, @pending, @n_pending: Where connections under way are waited for, and those
 */
struct addresses {
	struct { struct observer_socket *v; size_t len, cap; } allowed, own;
	struct { int *v; size_t len, cap; } pinned;
	size_t oldest;
	struct nested_sandboxes nested;
	struct loop *loop;
	LIST_HEAD(, pending_connect) pending;
	size_t n_pending;
};

void addresses_done(struct addresses *a);

/* Answer the call in @q (CALL_CONNECT and what comes after it). @place
 * receives the resolved path (resolved_path_done() it). 0 and *@ret, or a negative errno.
 */
int address_answer(struct addresses *addresses, const struct observer_config *config,
		   const struct notification *q, struct resolved_path *place,
		   struct decision *ret);

/* True if a connect() with @args needs no answer but to go on: for any thread,
 * where sockets do not go by path
 */
bool address_is_served(const struct observer_network *network,
		       const struct tracee *tracee,
		       const unsigned long long *args);

/* The same for a bind() */
bool address_is_free(const struct observer_network *network,
		     const struct tracee *tracee,
		     const unsigned long long *args);

#endif /* OBSERVE_SOCKETS_H */
