/* SPDX-License-Identifier: Apache-2.0 */
/* gate/resolver.h - names to addresses, in other processes
 *
 * getaddrinfo() blocks, and loads what /etc/nsswitch.conf says: it runs in
 * processes that are confined on their own and know nothing of policy. Only names
 * that the policy allowed get here.
 */

#ifndef GATE_RESOLVER_H
#define GATE_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "policy/host.h"

struct loop;
struct lookup;
struct timers;

enum {
	RESOLVE_ADDRESSES_MAX = 16,	/* Kept of one answer */
	RESOLVE_HELPERS_MAX = 4,	/* Names that are looked up at once */
	RESOLVE_NAMES_MAX = 256,	/* Names being asked for at once */
	RESOLVE_KEEP_MS = 5000,		/* One lookup for many connections */
	RESOLVE_KEPT_MAX = 64,		/* Names whose answers are kept */
};

/**
 * struct resolve_address - One address of an answer
 * @len:	4 or 16
 * @own:	It is one of this machine's own interface addresses
 */
struct resolve_address {
	uint8_t len;
	uint8_t bytes[16];
	bool own;
};

/**
 * struct resolve_answer - The addresses of a name
 * @error:	0, -ENOENT if there is no such name, -ETIMEDOUT, -EAGAIN
 */
struct resolve_answer {
	int32_t error;
	uint32_t count;
	struct resolve_address v[RESOLVE_ADDRESSES_MAX];
};

/* Messages between the gate and the resolver; the name is NUL-terminated. At @deadline, of
 * CLOCK_MONOTONIC in ms, no connection waits for the answer any more.
 */
struct resolve_request {
	uint64_t id;
	int64_t deadline;
	char name[HOST_NAME_MAX_LEN + 1];
};

struct resolve_reply {
	uint64_t id;
	struct resolve_answer answer;
};

/* The resolver with the system's C library, for a cloche that has its own */
#define RESOLVE_PROGRAM "cloche-resolve"

/* Runs in the resolver: fill *@ret for @name. Tests have their own. */
typedef void (*resolve_fn)(const char *name, struct resolve_answer *ret);

/* The C library's, with the addresses that are our own marked */
void resolve_system(const char *name, struct resolve_answer *ret);

/* Serve requests from @sock until it ends, each in a process of its own; never
 * returns. To be called in a forked process that is confined already.
 */
void resolve_serve(int sock, resolve_fn fn) __attribute__((noreturn));

/* All of it, in the forked process: confines itself and serves. @fn is NULL for
 * resolve_system(), or a program that has more.
 */
void resolve_main(int sock, resolve_fn fn) __attribute__((noreturn));

/* The gate's side. @need is called with @arg when a name comes and there is no
 * resolver, at first or because it ended: it makes the supervisor call
 * lookup_attach(), or returns a negative errno; after -EAGAIN it is called again.
 */
struct lookup *lookup_new(struct loop *loop, struct timers *timers,
			  int (*need)(void *arg), void *arg);

/* @sock leads to a process in resolve_serve() and is taken; -1: there won't be one */
void lookup_attach(struct lookup *resolver, int sock);

/**
 * struct resolve_wait - A connection that waits for an answer
 * @fn:		Called once, never from within lookup_ask(); *@answer is
 *		gone when it returns
 * @arg:	Handed to @fn
 * The rest is the resolver's; zero-initialise it.
 */
struct resolve_wait {
	void (*fn)(void *arg, const struct resolve_answer *answer);
	void *arg;
	LIST_ENTRY(resolve_wait) link;
	struct question *question;
};

/* Ask for the addresses of @host, a name. 0: @wait->fn will be called; 1:
 * *@ret has the answer already; -EBUSY: too many at once; -EIO: there is
 * no resolver.
 */
int lookup_ask(struct lookup *resolver, const struct host *host,
		 struct resolve_wait *wait, struct resolve_answer *ret);
void lookup_forget(struct resolve_wait *wait);

#endif /* GATE_RESOLVER_H */
