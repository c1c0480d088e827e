/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/ruleset.h - what may go out, as data and as text for nft
 *
 * Pure: nothing here touches the machine. One table of our own holds all of
 * it, so that taking the table away restores what was there before.
 */

#ifndef FIREWALL_RULESET_H
#define FIREWALL_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

struct buf;

/* "nft list table inet cloche" shows it */
#define RULESET_FAMILY	"inet"
#define RULESET_TABLE	"cloche"
/* An empty chain with this in front of its name marks a table as ours; the
 * rest says since when and who made it
 */
#define RULESET_MARK	"since_"
/* The chain that a table has unless it denies everything */
#define RULESET_OPEN	"allowed"
/* What was refused, one counter each */
#define RULESET_COUNTER	"refused_"

enum {
	RULESET_RANGES_MAX = 8192,	/* Addresses and networks in one list */
	RULESET_ADDRESSES_MAX = 1024,	/* Of all names together */
	RULESET_ID_MAX = 64,
};

/**
 * struct range_list - Addresses and networks
 */
struct range_list {
	struct host_range *v;
	size_t len, cap;
};

/* 0, or -E2BIG when it is full */
int range_list_add(struct range_list *list, const struct host_range *range);
int range_list_add_host(struct range_list *list, const struct host *address);
/* Sort, and drop what another range holds: nft refuses overlaps */
void range_list_tidy(struct range_list *list);
bool range_list_has(const struct range_list *list, const struct host *address);
void range_list_done(struct range_list *list);

/**
 * struct named_address - One address of an allowed name
 * @name:	Owned by whoever made the list of names
 * @seen_ms:	When the name last led there
 */
struct named_address {
	const char *name;
	struct host address;
	int64_t seen_ms;
};

/**
 * struct named_list - The addresses of all allowed names, each once
 */
struct named_list {
	struct named_address *v;
	size_t len, cap;
};

/* Add it, or note that it was seen again. 1 if it is new, 0 if not, -E2BIG. */
int named_list_add(struct named_list *list, const char *name,
		   const struct host *address, int64_t now_ms);
/* Forget what was not seen since @limit_ms; returns how many */
size_t named_list_expire(struct named_list *list, int64_t limit_ms);
bool named_list_has(const struct named_list *list, const struct host *address);
void named_list_done(struct named_list *list);

/**
 * struct ruleset - Everything that may leave
 * @id:		Name of the marking chain
 * @deny_all:	Nothing but loopback and answers to who called us
 * @names:	Addresses of allowed names
 * @ranges:	Allowed addresses and networks
 * @lan:	The networks around us
 * @resolvers:	Who may be asked for names
 */
struct ruleset {
	char id[RULESET_ID_MAX];
	bool deny_all;
	struct named_list names;
	struct range_list ranges, lan, resolvers;
};

void ruleset_done(struct ruleset *ruleset);

/* A file for `nft -f` that replaces our table by @ruleset, or by nothing if
 * that is NULL: one transaction, at no moment open
 */
void ruleset_write(const struct ruleset *ruleset, struct buf *out);

/* The same over a table of this shape that lets something out and has the mark
 * @id: no packet sees a gap, counters go on. It fails as a whole otherwise.
 */
void ruleset_write_over(const struct ruleset *ruleset, const char *id,
			struct buf *out);

/* Replaces the addresses of names only, and counters go on. It fails as a
 * whole if the table is no longer the one with this id.
 */
void ruleset_write_names(const struct ruleset *ruleset, struct buf *out);

#endif /* FIREWALL_RULESET_H */
