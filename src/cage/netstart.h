/* SPDX-License-Identifier: Apache-2.0 */
/* cage/netstart.h - the network namespace, made while init does all else */

#ifndef CAGE_NETSTART_H
#define CAGE_NETSTART_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "policy/policy.h"

/**
 * struct netstart - A network on its way
 * @beside:	@thread makes it; else it is made when it is needed
 * @fd:		The namespace, once @thread has ended
 * @code, @err:	How that went
 * @signal:	As the kernel keeps it: what a signal of the C library's did before
 */
struct netstart {
	enum net_mode net;
	pthread_t thread;
	bool beside;
	int fd, code;
	struct err err;
	unsigned long signal[4];
};

/* In another thread if @beside; each netstart_begin() needs a netstart_end() */
void netstart_begin(struct netstart *n, enum net_mode net, bool beside);

/* Wait for it and enter it: no other thread is left */
int netstart_end(struct netstart *n, struct err *err);

#endif /* CAGE_NETSTART_H */
