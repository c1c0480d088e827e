/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/lists.c - addresses and networks, each once */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "firewall/ruleset.h"

int range_list_add(struct range_list *list, const struct host_range *range)
{
	if (list->len == RULESET_RANGES_MAX)
		return -E2BIG;
	*vec_push(list) = *range;
	return 0;
}

static struct host_range range_of(const struct host *address)
{
	struct host_range range = {
		.kind = address->kind,
		.bits = address->kind == HOST_IPV4 ? 32 : 128,
	};

	memcpy(range.address, address->address, sizeof(range.address));
	return range;
}

int range_list_add_host(struct range_list *list, const struct host *address)
{
	const struct host_range range = range_of(address);

	return range_list_add(list, &range);
}

/* Families apart, then by address, the larger network first */
static int compare(const void *a, const void *b)
{
	const struct host_range *x = a, *y = b;
	int r = (int)x->kind - (int)y->kind;

	if (!r)
		r = memcmp(x->address, y->address, sizeof(x->address));
	return r ? r : (int)x->bits - (int)y->bits;
}

static bool holds(const struct host_range *outer,
		  const struct host_range *inner)
{
	struct host first = { .kind = inner->kind };

	memcpy(first.address, inner->address, sizeof(first.address));
	return outer->bits <= inner->bits && host_range_has(outer, &first);
}

/* Two networks are disjoint or one holds the other, which then comes first */
void range_list_tidy(struct range_list *list)
{
	size_t kept = 0;

	if (list->len)
		qsort(list->v, list->len, sizeof(*list->v), compare);
	for (size_t i = 0; i < list->len; i++) {
		if (!kept || !holds(&list->v[kept - 1], &list->v[i]))
			list->v[kept++] = list->v[i];
	}
	list->len = kept;
}

bool range_list_has(const struct range_list *list, const struct host *address)
{
	for (size_t i = 0; i < list->len; i++) {
		if (host_range_has(&list->v[i], address))
			return true;
	}
	return false;
}

void range_list_done(struct range_list *list)
{
	free(list->v);
	*list = (struct range_list){ 0 };
}

static struct named_address *find(const struct named_list *list,
				  const struct host *address)
{
	for (size_t i = 0; i < list->len; i++) {
		if (host_is_same(&list->v[i].address, address))
			return &list->v[i];
	}
	return NULL;
}

int named_list_add(struct named_list *list, const char *name,
		   const struct host *address, int64_t now_ms)
{
	struct named_address *a = find(list, address);

	if (a) {
		a->seen_ms = now_ms;
		return 0;
	}
	if (list->len == RULESET_ADDRESSES_MAX)
		return -E2BIG;
	a = vec_push(list);
	a->name = name;
	a->address = *address;
	a->seen_ms = now_ms;
	return 1;
}

size_t named_list_expire(struct named_list *list, int64_t limit_ms)
{
	size_t kept = 0, gone;

	for (size_t i = 0; i < list->len; i++) {
		if (list->v[i].seen_ms >= limit_ms)
			list->v[kept++] = list->v[i];
	}
	gone = list->len - kept;
	list->len = kept;
	return gone;
}

bool named_list_has(const struct named_list *list, const struct host *address)
{
	return find(list, address) != NULL;
}

void named_list_done(struct named_list *list)
{
	free(list->v);
	*list = (struct named_list){ 0 };
}
