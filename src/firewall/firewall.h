/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/firewall.h - default-deny egress for this network namespace
 *
 * For places where a sandbox cannot have a network of its own, but the
 * capability NET_ADMIN is available: containers. Everything that this network
 * namespace sends is dropped unless it is allowed here. One table of our own
 * holds all of it, so that taking the table away restores what was there before.
 */

#ifndef FIREWALL_FIREWALL_H
#define FIREWALL_FIREWALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "policy/host.h"

struct buf;
struct err;
struct nlmsghdr;

/* "nft list table inet cloche" shows it */
#define RULESET_FAMILY	"inet"
#define RULESET_TABLE	"cloche"
/* An empty chain with this in front of its name marks a table as ours; the
 * rest has the time and the process that made it
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
	FIREWALL_NAMES_MAX = 512,
	FIREWALL_TARGETS_MAX = 16,	/* To verify, of each kind */
	FIREWALL_WATCH_MS = 30000,
	FIREWALL_KEEP_ROUNDS = 10,	/* An address stays that long */
	ANSWER_ADDRESSES_MAX = 64,	/* Of one name */
};

/**
 * struct range - An address or a network
 * @name:	The allowed name that leads there, or NULL; not owned
 * @seen_ms:	When it last did
 */
struct range {
	struct host_range range;
	const char *name;
	int64_t seen_ms;
};

struct range_list {
	struct range *v;
	size_t len, cap;
};

/* 0, or -E2BIG when it is full */
int range_list_add(struct range_list *list, const struct host_range *range);
int range_list_add_host(struct range_list *list, const struct host *address);
/* Add the address of a name, or note that it was seen again. 1 if it is new, 0 if
 * not, -E2BIG.
 */
int range_list_note(struct range_list *list, const char *name,
		    const struct host *address, int64_t now_ms);
/* Forget what was not seen since @limit_ms; returns how many */
size_t range_list_expire(struct range_list *list, int64_t limit_ms);
/* Sort, and drop what another range holds: nft refuses overlaps */
void range_list_tidy(struct range_list *list);
bool range_list_has(const struct range_list *list, const struct host *address);
void range_list_done(struct range_list *list);

/* Add the networks of a JSON document: an object of lists of "ADDRESS/BITS".
 * @name is for messages. 0, or a negative errno with a message; then some may have
 * been added.
 */
int ranges_parse(const char *text, size_t n, const char *name,
		 struct range_list *list, struct err *err);

enum ruleset_set {
	SET_NAMES,	/* Addresses of allowed names, each once */
	SET_RANGES,	/* Allowed addresses and networks */
	SET_LAN,	/* The networks around us */
	SET_RESOLVERS,	/* DNS servers; allows nothing but DNS */
	SETS,
};

extern const char *const ruleset_sets[SETS];

/**
 * struct ruleset - Everything that may leave
 * @id:		Name of the marking chain
 * @deny_all:	Nothing but loopback and answers on incoming connections
 */
struct ruleset {
	char id[RULESET_ID_MAX];
	bool deny_all;
	struct range_list sets[SETS];
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

/**
 * struct firewall_target - A host to be reached, or not
 * @text:	As given
 */
struct firewall_target {
	char *text;
	struct host host;
};

struct target_list {
	struct firewall_target *v;
	size_t len, cap;
};

/**
 * struct firewall - What is asked for; zero-initialise it
 * @names:	Allowed names
 * @ranges:	Allowed addresses and networks, also from files
 * @resolvers:	DNS servers; empty: those of resolv.conf
 * @lan:	The networks around us are allowed too
 * @must, @must_not: What is verified; empty: found among what is allowed, and
 *		a documentation address
 * @watch_ms:	Between look-ups
 * @fetch:	A document with further networks, or NULL
 */
struct firewall {
	struct strings names;
	struct range_list ranges, resolvers;
	bool lan, no_verify;
	struct target_list must, must_not;
	uint64_t watch_ms;
	const char *fetch;
};

/* Where the last good documents are */
#define FETCH_KEPT	"/var/lib/cloche"

/* Add the networks of the document at @url, in the format of ranges_parse(), or if it cannot
 * be had those of the last good one. Positive if there are some. What did not work is a
 * note in @report.
 */
int fetch_ranges(const char *url, struct range_list *ret, json_t *report);

void firewall_done(struct firewall *f);

/* A name, an address or a network. 0, or -EINVAL with a message. */
int firewall_allow(struct firewall *f, const char *text, struct err *err);
/* The hosts of a preset: "anthropic", "npm", "github", "debian" */
int firewall_preset(struct firewall *f, const char *name, struct err *err);
int firewall_allow_file(struct firewall *f, const char *path, struct err *err);
int firewall_resolver(struct firewall *f, const char *text, struct err *err);
/* "HOST:PORT" */
int firewall_target(struct target_list *list, const char *text,
		    struct err *err);

/* Look everything up: what would be loaded. Changes nothing. */
int firewall_plan(const struct firewall *f, struct ruleset *ret,
		  struct err *err);

/* Put it in force and verify it. 0; 1 if the verification failed, and nothing
 * is let out now; or a negative errno with a message, and nothing has changed.
 * @report, an array, gets lines to show.
 */
int firewall_up(const struct firewall *f, struct ruleset *ret,
		json_t *report, struct err *err);

/* Remove our table. 0, 1 if there was none, or a negative errno with a message. */
int firewall_down(struct err *err);

/* Try what the firewall promises. 0, 1 if it does not hold, or a negative
 * errno with a message. Without targets: those of `up`, else what is in the sets.
 */
int firewall_verify(struct firewall *f, json_t *report, struct err *err);

/* Look the names up again and again, and follow them, until the table is gone
 * (0) or something fails. @warn is called with lines for the user.
 */
int firewall_watch(const struct firewall *f, struct ruleset *r,
		   void (*warn)(const char *line), struct err *err);

/* Fill in the DNS servers */
void firewall_resolvers(const struct firewall *f, struct ruleset *r);
/* Fill in the id: the time and our pid */
void firewall_mark(struct ruleset *r, int64_t since);

/* Resolve one name into @r. 0, or a negative errno with a message. */
int firewall_look_up(const struct firewall *f, const char *name,
		     struct ruleset *r, int64_t now, struct err *err);
int firewall_check_targets(const struct firewall *f, const struct ruleset *r,
			   json_t *report, struct err *err);

enum firewall_mode {
	FIREWALL_DOWN,
	FIREWALL_UP,
	FIREWALL_DENY_ALL,	/* A verification failed */
	FIREWALL_FOREIGN,	/* A table of that name that is not ours */
};

/* Refused packets by kind */
enum { COUNTER_DNS, COUNTER_IPV4, COUNTER_IPV6, STATE_COUNTERS };

/**
 * struct state - Our table, read from the kernel
 * @ruleset:	Its mark and what is in its sets
 * @since:	Seconds since 1970
 * @sets, @elements: How many
 * @packets, @bytes: Refused, per counter
 */
struct state {
	enum firewall_mode mode;
	struct ruleset ruleset;
	int64_t since;
	size_t sets, elements;
	uint64_t packets[STATE_COUNTERS], bytes[STATE_COUNTERS];
};

extern const char *const state_counters[STATE_COUNTERS];

/* Pure: from what `nft -j list table` gave */
void state_parse(const json_t *list, struct state *ret);
/* Ask the kernel. 0, or a negative errno with a message. */
int state_read(struct state *ret, struct err *err);
void state_done(struct state *state);

const char *state_mode_name(enum firewall_mode mode);
uint64_t state_refused(const struct state *state);

/* "2026-01-02T03:04:05Z" */
void state_time(int64_t seconds, char ret[32]);

/* Leave @document (a new reference, taken) with our network namespace added at
 * FIREWALL_MARK, or remove the file if it is NULL and about this namespace.
 * 0 or a negative errno with a message.
 */
int state_leave(json_t *document, struct err *err);

/* nft.c: 0 if nft is here and we may change this network namespace, else a
 * negative errno with a message
 */
int nft_check(struct err *err);
/* Load @text as one transaction: all of it or nothing */
int nft_load(const struct buf *text, struct err *err);
/* `nft -j list ARGS...` as its list of objects; NULL with a message on failure,
 * json_decref() the result
 */
json_t *nft_list(const char *const *args, struct err *err);

/* local.c: add the networks of our interfaces and the default gateways; not
 * loopback
 */
int local_lan(struct range_list *list, struct err *err);
/* Add the name servers of resolv.conf's text; those on loopback need no rule
 * and are left out
 */
void local_parse_resolvers(const char *text, struct range_list *list);
/* The same from /etc/resolv.conf; none if it is not there */
void local_resolvers(struct range_list *list);
/* Add the gateway to @list, a range_list, if the message is about a default route; 0 */
int local_take_route(const struct nlmsghdr *head, void *list);

/**
 * struct name_addresses - What a name leads to
 */
struct name_addresses {
	struct host v[ANSWER_ADDRESSES_MAX];
	size_t len;
};

/* names.c: look @name up as programs here do: /etc/hosts, then DNS. With
 * @resolvers (not empty) those are asked, else those of /etc/resolv.conf.
 * 0 with at least one address, or a negative errno with a message.
 */
int names_resolve(const char *name, const struct range_list *resolvers,
		  struct name_addresses *ret, struct err *err);

/* firewall-request.c: NULL if the allowed @name may open @address; else what it is, as in "a cloud
 * metadata address". The owner of a public name chooses where it leads, so it
 * opens no private address.
 */
const char *names_guard(const struct host *name, const struct host *address);

#endif /* FIREWALL_FIREWALL_H */
