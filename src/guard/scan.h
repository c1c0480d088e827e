/* SPDX-License-Identifier: Apache-2.0 */
/* guard/scan.h - one look at everything that a run could write */

#ifndef GUARD_SCAN_H
#define GUARD_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "guard/quarantine.h"

struct err;
struct journal;
struct policy;
struct view;
struct view_rule;
struct walk_cache;

enum {
	SCAN_OPEN_MAX = 8,		/* Closed directories in each other */
	SCAN_INSIDE_MAX = 4096,	/* Names in a protected directory */
};

/**
 * struct scan - One look at everything
 * @policy:	What is protected
 * @quarantine:	Where what was planted goes
 * @guessed:	The policy is not the run's own: what is surely older stays
 * @seen:	An observer refused what a rule names by its path: what came there
 *		is the user's
 * @before:	What was there when the run began, or NULL
 * @repos:	Git directories that were made in the run
 * @spared:	Directories of the user's that are none any more
 */
struct scan {
	const struct journal *journal;
	const struct policy *policy;
	struct quarantine_config quarantine;
	bool guessed, seen;
	const struct view *before;
	struct strings repos, spared;
};

/* Take away what was planted where @policy lets the run write; @deep: at any
 * depth. 0, or a negative errno with words: then some of it may be left.
 */
int scan_all(struct scan *s, struct policy *policy, struct walk_cache *cache,
	      bool deep, struct err *err);

/* Words for a path of journal.obeyed */
extern const char SCAN_OBEYED[];

/* Take away @path, a protected name that was not there before */
void scan_name(struct scan *s, const char *path, const char *reason);

/* Writable roots that were closed from inside can be looked into again */
void scan_open(const struct journal *j);

/* True if @r is a protected name that is there */
bool scan_knows(const struct view_rule *r);
/* True if @name is in @dir */
bool scan_sees(const char *dir, const char *name);

#endif /* GUARD_SCAN_H */
