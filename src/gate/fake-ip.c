/* SPDX-License-Identifier: Apache-2.0 */
/* gate/fake-ip.c - an address for each allowed name, for the life of a sandbox */

#include "gate/fake-ip.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST = 256 };	/* Numbers below it are for ourselves */

static const uint8_t v4_base[4] = { 198, 18, 0, 0 };
/* "cloche" in a ULA */
static const uint8_t v6_base[16] = { 0xfd, 'c', 'l', 'o', 'c', 'h', 'e' };

/**
 * struct fake_ip - Names by number, and their numbers in the order of names
 * @names:	Owned
 * @sorted:	A list kept in order has no worst case that a command could
 *		bring about by choosing names, unlike a table of hashes
 */
struct fake_ip {
	struct { char **v; size_t len, cap; } names;
	struct { uint16_t *v; size_t len, cap; } sorted;
};

static_assert(FIRST + FAKE_IP_NAMES_MAX <= 1 << 16, "numbers fit in two bytes");

struct fake_ip *fake_ip_new(void)
{
	return mem_zalloc(sizeof(struct fake_ip));
}

int fake_ip_number(struct fake_ip *pool, const struct host *host)
{
	size_t low = 0, high = pool->names.len;
	const size_t number = high;

	if (host->kind != HOST_NAME)
		return -EINVAL;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const int order = strcmp(host->name,
					 pool->names.v[pool->sorted.v[mid]]);

		if (!order)
			return pool->sorted.v[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	if (number == FAKE_IP_NAMES_MAX)
		return -ENOSPC;
	(void)vec_push(&pool->sorted);
	memmove(&pool->sorted.v[low + 1], &pool->sorted.v[low],
		(number - low) * sizeof(*pool->sorted.v));
	pool->sorted.v[low] = (uint16_t)number;
	*vec_push(&pool->names) = mem_strdup(host->name);
	return (int)number;
}

void fake_ip_v4(int number, uint8_t ret[4])
{
	memcpy(ret, v4_base, 4);
	ret[2] = (uint8_t)((FIRST + number) >> 8);
	ret[3] = (uint8_t)(FIRST + number);
}

void fake_ip_v6(int number, uint8_t ret[16])
{
	memcpy(ret, v6_base, 16);
	ret[14] = (uint8_t)((FIRST + number) >> 8);
	ret[15] = (uint8_t)(FIRST + number);
}

bool fake_ip_covers(const struct host *address)
{
	const uint8_t *a = address->address;

	if (address->kind == HOST_IPV4)
		return a[0] == v4_base[0] && (a[1] & 0xfe) == v4_base[1];
	return address->kind == HOST_IPV6 && !memcmp(a, v6_base, 8);
}

int fake_ip_name(const struct fake_ip *pool, const struct host *address,
	      struct host *ret)
{
	const size_t at = address->kind == HOST_IPV4 ? 2 : 14;
	const uint8_t *base = address->kind == HOST_IPV4 ? v4_base : v6_base;
	const uint8_t *a = address->address;
	size_t number;

	if (!fake_ip_covers(address) || memcmp(a, base, at) != 0)
		return -ENOENT;
	number = (size_t)(a[at] << 8 | a[at + 1]);
	if (number < FIRST || number - FIRST >= pool->names.len)
		return -ENOENT;
	*ret = (struct host){ .kind = HOST_NAME, .port = address->port };
	memcpy(ret->name, pool->names.v[number - FIRST],
	       strlen(pool->names.v[number - FIRST]) + 1);
	return 0;
}

void fake_ip_resolve(const struct fake_ip *pool, struct host *host)
{
	struct host name;

	if (fake_ip_name(pool, host, &name) == 0)
		*host = name;
}
