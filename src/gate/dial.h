/* SPDX-License-Identifier: Apache-2.0 */
/* gate/dial.h - connect to one of a host's addresses, which were checked before */

#ifndef GATE_DIAL_H
#define GATE_DIAL_H

#include <stddef.h>

#include "gate/conn-timer.h"
#include "policy/host.h"

struct loop;
struct splice_end;

enum { DIAL_ADDRESSES_MAX = 4 };

/**
 * struct dial - One connection; zero-initialise it, fill in the first part
 * @loop, @timers: Of the gate
 * @end:	Becomes the connected socket; its source's fn and arg are the
 *		dial's until it is done
 * @fn:		Called once with 0 or a negative errno, maybe from within
 *		dial_start()
 * @arg:	Handed to @fn
 * @v, @count:	Addresses with ports, checked already: dial_add()
 * @silent:	Family of one that did not answer
 */
struct dial {
	struct loop *loop;
	struct timers *timers;
	struct splice_end *end;
	void (*fn)(void *arg, int error);
	void *arg;
	struct host v[DIAL_ADDRESSES_MAX];
	size_t count;

	size_t next;
	int error;
	enum host_kind silent;
	struct timer total, attempt;
};

/* One more address to try, up to DIAL_ADDRESSES_MAX. The first one of the other
 * family comes second in any case: all of one may be out of reach.
 */
void dial_add(struct dial *dial, const struct host *address);

void dial_start(struct dial *dial);

/* As dial_start(), with a socket that exists already (in another network
 * namespace), for the one address there is. Takes @fd.
 */
void dial_start_with(struct dial *dial, int fd);

/* Give up without calling @fn; safe at any time */
void dial_stop(struct dial *dial);

#endif /* GATE_DIAL_H */
