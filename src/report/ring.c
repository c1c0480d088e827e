/* SPDX-License-Identifier: Apache-2.0 */
/* report/ring.c - the last refusals of a run, each once with its count */

#include "report/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strncmp(a, b, VIOLATION_TEXT_MAX) : a == b;
}

static bool is_same(const struct violation *a, const struct violation *b)
{
	return a->kind == b->kind && same_text(a->target, b->target) &&
	       same_text(a->exe, b->exe) && same_text(a->run, b->run);
}

struct ring_entry *ring_add(struct ring *ring, const struct violation *v,
			    struct ring_entry **evicted)
{
	const uint64_t count = v->count ? v->count : 1;
	struct ring_entry *entry;

	*evicted = NULL;
	for (size_t i = ring->len; i > 0; i--) {
		entry = ring->v[i - 1];
		if (is_same(&entry->v, v)) {
			entry->v.count += count;
			return entry;
		}
	}

	if (ring->len == RING_MAX) {
		*evicted = ring->v[0];
		ring->len--;
		ring->gone++;
		memmove(ring->v, ring->v + 1, ring->len * sizeof(*ring->v));
	}
	entry = mem_zalloc(sizeof(*entry));
	violation_copy(&entry->v, v);
	entry->v.count = count;
	ring->v[ring->len++] = entry;
	return entry;
}

void ring_entry_free(struct ring_entry *entry)
{
	if (!entry)
		return;
	violation_done(&entry->v);
	free(entry);
}

void ring_done(struct ring *ring)
{
	for (size_t i = 0; i < ring->len; i++)
		ring_entry_free(ring->v[i]);
	*ring = (struct ring) { 0 };
}

bool rate_take(struct rate *rate, int64_t now_ms)
{
	if (!rate->used || now_ms - rate->since_ms >= 1000) {
		rate->since_ms = now_ms;
		rate->used = 0;
	}
	if (rate->used >= RATE_LINES)
		return false;
	rate->used++;
	return true;
}
