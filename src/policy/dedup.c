/* SPDX-License-Identifier: Apache-2.0 */
/* policy/dedup.c - a set of (number, text): a hash table that no input slows, because
 * its hash begins with a number that the kernel chose for this process
 */

#include "policy/dedup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum { BUCKETS = 512 };		/* Our own tables have 300 entries */

struct member {
	struct member *next;
	uint64_t hash;
	unsigned int key;
	size_t index;
	char text[];
};

struct policy_dedup {
	struct member *buckets[BUCKETS];
	uint64_t seed;
};

struct policy_dedup *dedup_new(void)
{
	struct policy_dedup *seen = mem_zalloc(sizeof(*seen));

	memcpy(&seen->seed, (const void *)getauxval(AT_RANDOM), sizeof(seen->seed));
	return seen;
}

void dedup_free(struct policy_dedup *seen)
{
	for (size_t i = 0; seen && i < BUCKETS; i++) {
		while (seen->buckets[i]) {
			struct member *next = seen->buckets[i]->next;

			free(seen->buckets[i]);
			seen->buckets[i] = next;
		}
	}
	free(seen);
}

static uint64_t hash_of(const struct policy_dedup *seen, unsigned int key,
			const char *text)
{
	uint64_t h = seen->seed ^ key;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h ^ h >> 32;
}

static const struct member *find(const struct policy_dedup *seen, uint64_t hash,
				 unsigned int key, const char *text)
{
	const struct member *m = seen->buckets[hash % BUCKETS];

	while (m && (m->hash != hash || m->key != key || strcmp(m->text, text) != 0))
		m = m->next;
	return m;
}

bool dedup_find(const struct policy_dedup *seen, unsigned int key,
		const char *text, size_t *ret)
{
	const struct member *m = find(seen, hash_of(seen, key, text), key, text);

	if (m && ret)
		*ret = m->index;
	return m;
}

bool dedup_add(struct policy_dedup *seen, unsigned int key, const char *text,
	       size_t index)
{
	const uint64_t hash = hash_of(seen, key, text);
	struct member **bucket = &seen->buckets[hash % BUCKETS], *m;
	const size_t n = strlen(text) + 1;

	if (find(seen, hash, key, text))
		return false;
	m = mem_alloc(sizeof(*m) + n);
	*m = (struct member){ *bucket, hash, key, index };
	memcpy(m->text, text, n);
	*bucket = m;
	return true;
}

bool dedup_covers(const struct policy_dedup *seen, unsigned int key,
		  const char *path)
{
	auto_free char *at = path_resolve("/", path);

	do {
		if (dedup_find(seen, key, at, NULL))
			return true;
	} while (path_up(at));
	return false;
}
