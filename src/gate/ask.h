/* SPDX-License-Identifier: Apache-2.0 */
/* gate/ask.h - hosts that the user is asked about, and the answers */

#ifndef GATE_ASK_H
#define GATE_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "policy/host.h"

struct asks;
struct timers;

enum {
	ASK_OPEN_MAX = 64,	/* Questions without an answer yet */
	ASK_KEPT_MAX = 1024,	/* Answers that hold for the session */
};

/* For how long an answer holds */
enum ask_scope { ASK_ONCE, ASK_SESSION };

/**
 * struct ask_wait - A connection that waits; zero-initialise it, set @fn and @arg
 * @fn:		Called once with the answer, never from within ask_start()
 * @client:	Its socket, for @send
 */
struct ask_wait {
	void (*fn)(void *arg, bool allow);
	void *arg;
	int client;
	LIST_ENTRY(ask_wait) link;
	struct asked *asked;
};

/* @send sends the question to the supervisor, for the connection whose socket is
 * @client; 0 or a negative errno
 */
typedef int (*ask_send_fn)(void *arg, uint32_t id, const struct host *host,
			   int client);
struct asks *asks_new(struct timers *timers, ask_send_fn send, void *arg);

/* Ask about @host and its port, once for all that wait for the same. 0: the
 * answer will come (no, after a minute); 1: it is yes already, 2: it is no;
 * -EBUSY: too many questions are open.
 */
int ask_start(struct asks *asks, const struct host *host,
	      struct ask_wait *wait);
void ask_forget(struct ask_wait *wait);

/* What came back for question @id; unknown ones are ignored */
void ask_answer(struct asks *asks, uint32_t id, bool allow,
		enum ask_scope scope);

/* True if @host was allowed for the session */
bool ask_is_allowed(const struct asks *asks, const struct host *host);

#endif /* GATE_ASK_H */
