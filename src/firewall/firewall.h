/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/firewall.h - default-deny egress for this network namespace
 *
 * For places where a sandbox cannot have a network of its own, but the
 * capability NET_ADMIN is at hand: containers. Everything that this network
 * namespace sends is dropped unless it is allowed here.
 */

#ifndef FIREWALL_FIREWALL_H
#define FIREWALL_FIREWALL_H

#include <stdbool.h>
#include <stdint.h>

#include "firewall/ruleset.h"

struct buf;
struct err;

enum {
	FIREWALL_NAMES_MAX = 512,
	FIREWALL_TARGETS_MAX = 16,	/* To verify, of each kind */
	FIREWALL_WATCH_MS = 30000,
	FIREWALL_KEEP_ROUNDS = 10,	/* An address stays that long */
};

/**
 * struct firewall_target - Somebody to be reached, or not
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
 * @resolvers:	Who may be asked for names; empty: those of resolv.conf
 * @lan:	The networks around us are allowed too
 * @must, @must_not: What is verified; empty: found among what is allowed, and
 *		an address that nobody has
 * @watch_ms:	Between look-ups
 */
struct firewall {
	struct { char **v; size_t len, cap; } names;
	struct range_list ranges, resolvers;
	bool lan, no_verify;
	struct target_list must, must_not;
	uint64_t watch_ms;
};

void firewall_done(struct firewall *f);

/* A name, an address or a network. 0, or -EINVAL with words. */
int firewall_allow(struct firewall *f, const char *text, struct err *err);
int firewall_allow_file(struct firewall *f, const char *path, struct err *err);
int firewall_resolver(struct firewall *f, const char *text, struct err *err);
/* "HOST:PORT" */
int firewall_target(struct target_list *list, const char *text,
		    struct err *err);

/* Look everything up: what would be loaded. Changes nothing. */
int firewall_plan(const struct firewall *f, struct ruleset *ret,
		  struct err *err);

/* Put it in force and verify it. 0; 1 if the verification failed, and nothing
 * is let out now; or a negative errno with words, and nothing has changed.
 * @said gets lines to show.
 */
int firewall_up(const struct firewall *f, struct ruleset *ret,
		struct buf *said, struct err *err);

/* Remove our table. 0, 1 if there was none, or a negative errno with words. */
int firewall_down(struct err *err);

/* Try what the firewall promises. 0, 1 if it does not hold, or a negative
 * errno with words. Without targets: those of `up`, else what is in the sets.
 */
int firewall_verify(struct firewall *f, struct buf *said, struct err *err);

/* Look the names up again and again, and follow them, until the table is gone
 * (0) or something fails. @warn is called with lines for the user.
 */
int firewall_watch(const struct firewall *f, struct ruleset *r,
		   void (*warn)(const char *line), struct err *err);

/* For parts of this folder */

/* Fill in the id: since when, and who we are */
void firewall_mark(struct ruleset *r, int64_t since);

/* Resolve one name into @r. 0, or a negative errno with words. */
int firewall_look_up(const struct firewall *f, const char *name,
		     struct ruleset *r, int64_t now_ms, struct err *err);
int firewall_check_targets(const struct firewall *f,
			   const struct range_list *addresses,
			   const struct ruleset *r, struct buf *said,
			   struct err *err);
int64_t firewall_now_ms(void);

#endif /* FIREWALL_FIREWALL_H */
