/* SPDX-License-Identifier: Apache-2.0 */
/* net/ask.h - hosts that somebody is asked about, and what was answered */

#ifndef NET_ASK_H
#define NET_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

struct asks;
struct conn;
struct timers;

enum {
	ASK_OPEN_MAX = 64,	/* Questions without an answer yet */
	ASK_KEPT_MAX = 1024,	/* Answers that hold for the session */
};

/* For how long an answer holds */
enum ask_scope { ASK_ONCE, ASK_SESSION };

/**
 * struct ask_wait - One who waits; zero-initialise it, set @fn and @arg
 * @fn:		Called once with the answer, never from within ask_start()
 * @client:	For @send
 */
struct ask_wait {
	void (*fn)(void *arg, bool allow);
	void *arg;
	const struct conn *client;
	struct ask_wait *prev, *next;
	struct asked *asked;
};

/* @send puts a question to whoever answers, @client being who wants to know it
 * first, or NULL; 0 or a negative errno
 */
typedef int (*ask_send_fn)(void *arg, uint32_t id, const struct host *host,
			   const struct conn *client);
struct asks *asks_new(struct timers *timers, ask_send_fn send, void *arg);
void asks_free(struct asks *asks);

/* Ask about @host and its port, once for all who wait for the same. 0: the
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

#endif /* NET_ASK_H */
