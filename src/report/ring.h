/* SPDX-License-Identifier: Apache-2.0 */
/* report/ring.h - the last refusals of a run, each once with its count */

#ifndef REPORT_RING_H
#define REPORT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/violation.h"

enum {
	RING_MAX = 100,		/* Records kept */
	RATE_LINES = 50,	/* Lines per second, and at once */
};

/**
 * struct ring_entry - A record
 * @v:		Its count is how often it happened
 * @written:	The count that the stream and the store have; 0 for none
 */
struct ring_entry {
	struct violation v;
	uint64_t written;
};

/**
 * struct ring - Oldest first; zero-initialise it
 * @gone:	Entries that were removed because the ring was full
 */
struct ring {
	struct ring_entry *v[RING_MAX];
	size_t len;
	uint64_t gone;
};

/* Add a copy of @v, or count it if one with its kind, target, program and run is
 * there. Returns the entry. If the ring was full, its oldest entry is given to
 * the caller in *@evicted (free with ring_entry_free()), else *@evicted = NULL.
 */
struct ring_entry *ring_add(struct ring *ring, const struct violation *v,
			    struct ring_entry **evicted);
void ring_entry_free(struct ring_entry *entry);
void ring_done(struct ring *ring);

/**
 * struct rate - A bucket of RATE_LINES lines, filled in one second
 */
struct rate {
	int64_t since_ms;
	unsigned int used;
};

/* True if one more line may go out at @now_ms (any clock that runs forward) */
bool rate_take(struct rate *rate, int64_t now_ms);

#endif /* REPORT_RING_H */
