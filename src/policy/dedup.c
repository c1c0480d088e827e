/* SPDX-License-Identifier: Apache-2.0 */
/* policy/dedup.c - a set of (number, text): a balanced tree, which no input slows */

#include "policy/dedup.h"

#include <search.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

struct policy_dedup {
	void *root;
};

/* In the order of @hash, for most texts begin alike */
struct member {
	uint64_t hash;
	unsigned int key;
	size_t index;
	const char *text;
};

struct policy_dedup *dedup_new(void)
{
	return mem_zalloc(sizeof(struct policy_dedup));
}

void dedup_free(struct policy_dedup *seen)
{
	if (seen)
		tdestroy(seen->root, free);
	free(seen);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *left = a, *right = b;

	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return strcmp(left->text, right->text);
}

bool dedup_add(struct policy_dedup *seen, unsigned int key, const char *text,
	       size_t index)
{
	const size_t n = strlen(text) + 1;
	struct member *member = mem_alloc(sizeof(*member) + n);
	struct member *const *found;

	*member = (struct member){ text_hash(text), key, index,
				    memcpy(member + 1, text, n) };
	found = tsearch(member, &seen->root, compare_members);
	if (!found)
		abort();	/* As base/mem.h without memory */
	if (*found == member)
		return true;
	free(member);
	return false;
}

bool dedup_find(const struct policy_dedup *seen, unsigned int key,
		const char *text, size_t *ret)
{
	const struct member wanted = { text_hash(text), key, 0, text };
	struct member *const *found = tfind(&wanted, &seen->root,
					    compare_members);

	if (found && ret)
		*ret = (*found)->index;
	return found;
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
