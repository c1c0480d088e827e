/* SPDX-License-Identifier: Apache-2.0 */
/* secret/cache.c - a slow store read once, however many ask */

#include "secret/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/now.h"
#include "secret/bytes.h"

/**
 * struct waiter - Somebody who asked
 */
struct waiter {
	answer_fn done;
	void *arg;
};

/**
 * struct flight - One read of the store, under way
 * @generation:	Of the cache when it was started
 * @waiters:	Who gets its answer
 */
struct flight {
	struct cache *cache;
	uint64_t generation;
	struct { struct waiter *v; size_t len, cap; } waiters;
};

/**
 * struct cache - What is remembered
 * @generation:	Counts the changes
 * @known:	@r, @data and @notes are worth something
 * @until:	Time after which they are only good for want of better
 * @r:		1: @data is the document; 0: there is none
 * @why:	Why a newer one could not be read (NOTE_STALE)
 * @flight:	The read that newcomers share, or NULL
 */
struct cache {
	struct backend *store;
	cache_clock clock;
	uint64_t generation;
	bool known;
	uint64_t until;
	int r;
	unsigned int notes;
	struct bytes data;
	struct err why;
	struct flight *flight;
};

/* CLOCK_BOOTTIME: the time asleep counts, a token ages in it too */
static uint64_t usual_clock(void)
{
	return (uint64_t)now_ms(CLOCK_BOOTTIME);
}

struct cache *cache_new(struct backend *store, cache_clock clock)
{
	struct cache *cache = mem_zalloc(sizeof(*cache));

	cache->store = store;
	cache->clock = clock ? clock : usual_clock;
	return cache;
}

static void forget(struct cache *cache)
{
	cache->generation++;
	cache->known = false;
	cache->flight = NULL;	/* It ends by itself, unheeded */
	bytes_done(&cache->data);
}

void cache_free(struct cache *cache)
{
	if (!cache)
		return;
	forget(cache);
	free(cache);
}

void cache_clear(struct cache *cache)
{
	forget(cache);
}

static void remember(struct cache *cache, int r, const struct bytes *data,
		     unsigned int notes)
{
	cache->known = true;
	cache->until = cache->clock() + CACHE_TTL_MS;
	cache->r = r;
	cache->notes = notes;
	if (data)
		bytes_copy(&cache->data, data);
	else
		bytes_done(&cache->data);
}

void cache_changed(struct cache *cache, const struct bytes *data, bool none)
{
	forget(cache);
	if (data || none)
		remember(cache, data != NULL, data, 0);
}

static struct answer remembered(const struct cache *cache)
{
	return (struct answer){
		.r = cache->r,
		.data = cache->r ? &cache->data : NULL,
		.notes = cache->notes,
		.err = cache->why,
	};
}

/* What the readers of a finished flight are told, and what is kept of it */
static struct answer settle(struct cache *cache, const struct flight *flight,
			    const struct answer *answer)
{
	const bool current = flight->generation == cache->generation;

	if (!current && cache->known && !(cache->notes & NOTE_STALE))
		return remembered(cache);	/* Newer than what was read */
	if (!current || answer->r == -ECANCELED)
		return *answer;
	if (answer->r >= 0) {
		cache->why = answer->err;
		remember(cache, answer->r, answer->data, answer->notes);
	} else if (cache->known) {
		cache->notes |= NOTE_STALE;
		cache->why = answer->err;
		cache->until = cache->clock() + CACHE_TTL_MS;
		return remembered(cache);
	}
	return *answer;
}

/* Told from a copy: a callback may change the cache under our feet */
static void tell(const struct waiter *v, size_t n, struct answer told)
{
	auto_bytes struct bytes copy = { 0 };

	if (told.data) {
		bytes_copy(&copy, told.data);
		told.data = &copy;
	}
	for (size_t i = 0; i < n; i++)
		v[i].done(v[i].arg, &told);
}

static void landed(void *arg, const struct answer *answer)
{
	struct flight *flight = arg;
	struct cache *cache = flight->cache;

	/* First: a reader that asks again from its callback must not join */
	if (cache->flight == flight)
		cache->flight = NULL;
	tell(flight->waiters.v, flight->waiters.len,
	     settle(cache, flight, answer));
	free(flight->waiters.v);
	free(flight);
}

void cache_read(struct cache *cache, answer_fn done, void *arg)
{
	const struct waiter waiter = { done, arg };
	struct flight *flight = cache->flight;

	if (cache->known && cache->clock() < cache->until) {
		tell(&waiter, 1, remembered(cache));
		return;
	}
	if (flight) {
		*vec_push(&flight->waiters) = waiter;
		return;
	}
	flight = mem_zalloc(sizeof(*flight));
	flight->cache = cache;
	flight->generation = cache->generation;
	*vec_push(&flight->waiters) = waiter;
	cache->flight = flight;
	backend_read(cache->store, landed, flight);
}
