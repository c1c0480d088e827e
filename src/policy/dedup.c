/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/dedup.c - a set of (number, text)
 *
 * Theory of operation: open addressing over a power of two, never more than
 * half full. The hash starts from a per-process secret, so that a settings
 * file cannot be written to make it slow.
 */

#include "policy/dedup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum { SEEN_SLOTS_MIN = 256 };

struct slot {
	const char *text;	/* NULL: free */
	uint32_t hash, index;
	uint16_t key;
};

struct policy_dedup {
	struct slot *slots;
	size_t cap, len;
	uint64_t seed;
	struct { char **v; size_t len, cap; } copies;
};

struct policy_dedup *dedup_new(void)
{
	struct policy_dedup *seen = mem_zalloc(sizeof(*seen));

	seen->cap = SEEN_SLOTS_MIN;
	seen->slots = mem_zalloc(seen->cap * sizeof(*seen->slots));
	/* Without entropy the set is only slower to attack, not wrong */
	if (getrandom(&seen->seed, sizeof(seen->seed), GRND_NONBLOCK) < 0)
		seen->seed = (uint64_t)(uintptr_t)seen;
	return seen;
}

void dedup_free(struct policy_dedup *seen)
{
	if (!seen)
		return;
	for (size_t i = 0; i < seen->copies.len; i++)
		free(seen->copies.v[i]);
	free(seen->copies.v);
	free(seen->slots);
	free(seen);
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* Eight bytes at a time: this is on the start path */
static uint32_t hash_of(const struct policy_dedup *seen, unsigned int key,
			const char *text)
{
	uint64_t h = mix(seen->seed + key), word;
	size_t n = strlen(text);

	for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = mix(h + word + seen->seed);
	}
	word = n;
	memcpy(&word, text, n);
	return (uint32_t)(mix(h + word + seen->seed) >> 16);
}

/* The slot that holds it, or the free one where it belongs */
static struct slot *find(const struct policy_dedup *seen, uint32_t hash,
			 unsigned int key, const char *text)
{
	size_t i = hash & (seen->cap - 1);

	for (;; i = (i + 1) & (seen->cap - 1)) {
		struct slot *slot = &seen->slots[i];

		if (!slot->text || (slot->hash == hash && slot->key == key &&
				    !strcmp(slot->text, text)))
			return slot;
	}
}

static void grow(struct policy_dedup *seen)
{
	struct policy_dedup bigger = *seen;

	bigger.cap *= 2;
	bigger.slots = mem_zalloc(bigger.cap * sizeof(*bigger.slots));
	for (size_t i = 0; i < seen->cap; i++) {
		const struct slot *old = &seen->slots[i];

		if (old->text)
			*find(&bigger, old->hash, old->key, old->text) = *old;
	}
	free(seen->slots);
	*seen = bigger;
}

bool dedup_add(struct policy_dedup *seen, unsigned int key, const char *text,
	      size_t index, size_t *ret)
{
	const uint32_t hash = hash_of(seen, key, text);
	struct slot *slot;

	if (2 * (seen->len + 1) > seen->cap)
		grow(seen);
	slot = find(seen, hash, key, text);
	if (slot->text) {
		*ret = slot->index;
		return false;
	}
	*slot = (struct slot){ text, hash, (uint32_t)index, (uint16_t)key };
	seen->len++;
	return true;
}

bool dedup_add_copy(struct policy_dedup *seen, unsigned int key,
		   const char *text, size_t index, size_t *ret)
{
	char *copy;

	if (dedup_find(seen, key, text, ret))
		return false;
	copy = mem_strdup(text);
	*vec_push(&seen->copies) = copy;
	return dedup_add(seen, key, copy, index, ret);
}

bool dedup_find(const struct policy_dedup *seen, unsigned int key,
	       const char *text, size_t *ret)
{
	const struct slot *slot = find(seen, hash_of(seen, key, text), key,
				       text);

	if (!slot->text)
		return false;
	*ret = slot->index;
	return true;
}

bool dedup_covers(const struct policy_dedup *seen, unsigned int key,
		  const char *path)
{
	auto_free char *at = path_resolve("/", path);
	size_t unused;

	while (!dedup_find(seen, key, at, &unused)) {
		char *slash = strrchr(at, '/');

		if (!at[1])
			return false;
		slash[slash == at] = '\0';
	}
	return true;
}
