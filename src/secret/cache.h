/* SPDX-License-Identifier: Apache-2.0 */
/* secret/cache.h - a slow store read once, however many ask
 *
 * - A result, also "nothing there", is good for CACHE_TTL_MS.
 * - Readers that come while a read is under way share it.
 * - Every write and clear begins a new generation: a read that was started
 *   before it is neither remembered nor shared with later readers, and if the
 *   newer document is known by then, its readers get that one.
 * - A read that fails serves the last good document, and says so (NOTE_STALE).
 */

#ifndef SECRET_CACHE_H
#define SECRET_CACHE_H

#include <stdint.h>

#include "secret/backend.h"

struct cache;

enum { CACHE_TTL_MS = 30000 };

/* Milliseconds of a clock that never goes back */
typedef uint64_t (*cache_clock)(void);

/* @store is the caller's and outlives the cache; @clock NULL for the usual */
struct cache *cache_new(struct backend *store, cache_clock clock);

/* Whoever waits is answered with -ECANCELED by the store's cancelling, which
 * comes first
 */
void cache_free(struct cache *cache);

void cache_read(struct cache *cache, answer_fn done, void *arg);

/* The store was changed: forget what was read, remember @data if it is known,
 * or that there is @none
 */
void cache_changed(struct cache *cache, const struct bytes *data, bool none);

/* Forget everything: the next read asks the store */
void cache_clear(struct cache *cache);

#endif /* SECRET_CACHE_H */
