/* SPDX-License-Identifier: Apache-2.0 */
/* plan/tier.h - how strong a boundary is, and what it guarantees
 *
 * One table (tier.c) for doctor, explain, the footer and the documents.
 */

#ifndef PLAN_TIER_H
#define PLAN_TIER_H

#include <stdbool.h>

enum tier { TIER_FULL, TIER_LANDLOCK, TIER_NONE, TIER_COUNT };

enum guarantee {
	GUARANTEE_WRITES, GUARANTEE_HIDDEN, GUARANTEE_PROTECTED,
	GUARANTEE_PLANTED, GUARANTEE_NETWORK, GUARANTEE_UNIX_SOCKETS,
	GUARANTEE_SIGNALS, GUARANTEE_MEMORY, GUARANTEE_PROCESSES,
	GUARANTEE_IPC, GUARANTEE_PRIVILEGES, GUARANTEE_KERNEL, GUARANTEE_TMP,
	GUARANTEE_END,
	GUARANTEE_COUNT,
};

enum holds { HOLDS, PARTLY, MISSING };

enum {
	/* Below it truncate() and TCP are not covered: no boundary at all */
	TIER_LANDLOCK_ABI = 4,
};

/**
 * struct guarantee_state - What a promise is worth in a tier on a kernel
 * @name:	One word
 * @promise:	As the user reads it
 * @by:		How it is held, or what is missing
 */
struct guarantee_state {
	const char *name, *promise;
	enum holds holds;
	const char *by;
};

/**
 * struct ground - What promises can rest on here
 * @abi:	Of Landlock; 0 without it
 * @observer:	Writes are seen before they happen
 */
struct ground {
	int abi;
	bool observer;
};

/* "full", "landlock", "none" */
const char *tier_name(enum tier tier);
const char *tier_words(enum tier tier, struct ground ground);

/* By name, "none" is none; -EINVAL if unknown */
int tier_parse(const char *name, enum tier *ret);

/* In TIER_NONE nothing holds */
struct guarantee_state guarantee_in(enum guarantee guarantee, enum tier tier,
				    struct ground ground);

/* "holds", "partly", "missing" */
const char *holds_name(enum holds holds);

#endif /* PLAN_TIER_H */
