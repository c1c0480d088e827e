/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/state.h - what is in force, read from the kernel */

#ifndef FIREWALL_STATE_H
#define FIREWALL_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "firewall/ruleset.h"

struct err;

enum firewall_mode {
	FIREWALL_DOWN,
	FIREWALL_UP,
	FIREWALL_DENY_ALL,	/* A verification failed */
	FIREWALL_FOREIGN,	/* A table of that name that is not ours */
};

/**
 * struct state - Our table
 * @id:		Its mark
 * @since:	Seconds since 1970
 * @sets, @elements: How many
 * @packets, @bytes: Refused, per counter
 * @addresses:	What is in the sets of names and ranges, single addresses only
 */
enum { STATE_COUNTERS = 3 };
struct state {
	enum firewall_mode mode;
	char id[RULESET_ID_MAX];
	int64_t since;
	size_t sets, elements;
	uint64_t packets[STATE_COUNTERS], bytes[STATE_COUNTERS];
	struct range_list addresses;
};

extern const char *const state_counters[STATE_COUNTERS];

/* Pure: from what `nft -j list table` gave */
void state_parse(const json_t *list, struct state *ret);
/* Ask the kernel. 0, or a negative errno with words. */
int state_read(struct state *ret, struct err *err);
void state_done(struct state *state);

const char *state_mode_name(enum firewall_mode mode);
/* One counter as the kernel has it now. 0, or a negative errno with words. */
int state_count(const char *counter, uint64_t *ret, struct err *err);
uint64_t state_refused(const struct state *state);

/* "2026-01-02T03:04:05Z" */
void state_time(int64_t seconds, char ret[32]);

/* Leave @document (a new reference, taken) with our network namespace added at
 * FIREWALL_MARK, or remove the file if it is NULL and about this namespace.
 * 0 or a negative errno with words.
 */
int state_leave(json_t *document, struct err *err);

#endif /* FIREWALL_STATE_H */
