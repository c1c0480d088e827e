/* SPDX-License-Identifier: Apache-2.0 */
/* net/reach.h - from a host to a connection: judge, ask, resolve, guard, dial
 *
 * The one way out. Whatever wants a connection to somebody goes through here,
 * with one validated host from the first step to the last.
 */

#ifndef NET_REACH_H
#define NET_REACH_H

#include <stdbool.h>

#include "net/ask.h"
#include "net/dial.h"
#include "net/resolve.h"
#include "policy/host.h"

struct conn;
struct end;
struct gate;
struct seen_wait;

enum {
	REACH_REASON_MAX = 200,
	REACH_RULE_MAX = 300,
};

enum reach_outcome {
	REACH_PENDING,
	REACH_OK,
	REACH_DENIED,		/* By the policy, or by who was asked */
	REACH_GUARDED,		/* All its addresses are refused */
	REACH_NO_NAME,		/* It has no address */
	REACH_REFUSED,		/* It has, but nobody listens */
	REACH_UNREACHABLE,
	REACH_TIMEOUT,
	REACH_BUSY,		/* Too many at once */
};

/**
 * struct reach - One way out; zero-initialise it, fill in the first part
 * @gate, @end:	@end becomes the connected socket
 * @fn:		Called when @outcome is no longer REACH_PENDING, maybe from
 *		within reach_start()
 * @arg:	Handed to @fn
 * @conn, @seen: Whose way it is, and who waits when it is refused
 * @op:		What the client did, for reports: "CONNECT", "GET", "connect"
 * @host:	Where to
 * @plain:	HTTP requests will follow: a parent proxy gets them as they
 *		are, without a CONNECT
 * @outcome:	What became of it
 * @reason:	Words for a refusal
 * @rule:	"FILE:LINE: KEY" of the rule that refused, or ""
 * @via_parent:	@end leads to a proxy that was told where to
 * @granted:	Somebody was asked and said yes
 * @port:	Of the addresses to dial
 * @parent_timer, @parent_in, @interims: For the answer of a proxy
 */
struct reach {
	struct gate *gate;
	struct end *end;
	void (*fn)(void *arg);
	void *arg;
	struct conn *conn;
	struct seen_wait *seen;
	char op[24];
	struct host host;
	bool plain;
	enum reach_outcome outcome;
	char reason[REACH_REASON_MAX];
	char rule[REACH_RULE_MAX];

	bool via_parent, granted;
	uint16_t port;
	struct ask_wait ask;
	struct resolve_wait resolve;
	struct dial dial;
	struct timer parent_timer;
	char *parent_in;
	unsigned int interims;
};

void reach_start(struct reach *reach);

/* There is another policy, and @outcome is REACH_OK: true if the connection may go
 * on; else @outcome and the words are set, and it was reported. An answer to a
 * question holds for the connection it was for.
 */
bool reach_is_allowed(struct reach *reach);

/* There is another policy, and @outcome is still REACH_PENDING: what it does not
 * allow ends now; all else but a question begins anew
 */
void reach_judge_again(struct reach *reach);

/* Give up without a word; safe at any time */
void reach_stop(struct reach *reach);

#endif /* NET_REACH_H */
