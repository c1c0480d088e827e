/* SPDX-License-Identifier: Apache-2.0 */
/* guard/planted-scan.h - planted files below the writable roots: find them, decide about them */

#ifndef GUARD_PLANTED_SCAN_H
#define GUARD_PLANTED_SCAN_H

#include <stdbool.h>

#include "base/mem.h"
#include "guard/quarantine.h"

struct err;
struct journal;
struct policy;
struct view;
struct view_rule;
struct walk_cache;

enum {
	PLANTED_OPEN_MAX = 8,		/* Closed directories in each other */
	PLANTED_INSIDE_MAX = 4096,	/* Names in a protected directory */
};

/**
 * struct planted_scan - One pass over the writable roots
 * @policy:	What is protected
 * @quarantine:	Where planted files go
 * @guessed:	The policy is not the run's own: what is surely older stays
 * @seen:	An observer refused what a rule names by its path: what came there
 *		is the user's
 * @before:	The view at the start of the run, or NULL
 * @repos:	Git directories that were made in the run
 * @spared:	Directories of the user's that no longer exist as such
 */
struct planted_scan {
	const struct journal *journal;
	const struct policy *policy;
	struct quarantine_config quarantine;
	bool guessed, seen;
	const struct view *before;
	struct strings repos, spared;
};

/* Quarantine what was planted where @policy lets the run write; @deep: at any
 * depth. 0, or a negative errno with a message: then some of it may be left.
 */
int planted_scan_all(struct planted_scan *s, struct policy *policy, struct walk_cache *cache,
	      bool deep, struct err *err);

/* The reason for a path of journal.obeyed */
extern const char PLANTED_OBEYED[];

/* Decide about @path, a protected name that is new: leave, disarm or quarantine it */
void planted_decide(struct planted_scan *s, const char *path, const char *reason);

/* Restore the mode of writable roots that the command made unreadable */
void planted_scan_open(const struct journal *j);

/* True if @r is a protected name that exists */
bool planted_scan_is_found(const struct view_rule *r);
/* True if @name exists in @dir */
bool planted_scan_has(const char *dir, const char *name);

#endif /* GUARD_PLANTED_SCAN_H */
