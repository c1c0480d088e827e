/* SPDX-License-Identifier: Apache-2.0 */
/* net/pool.h - an address for each allowed name, for the life of a sandbox
 *
 * 198.18.0.0/15 (set aside for measurements, never on the internet) and a ULA
 * /64. A name keeps its number; its IPv4 and IPv6 address are that number in
 * either range, so both lead back to it. Nothing is ever given back: a program
 * may hold an address for as long as it likes.
 */

#ifndef NET_POOL_H
#define NET_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

struct pool;

enum { POOL_NAMES_MAX = 8192 };		/* "*.a.b" lets a stranger make names */

struct pool *pool_new(void);
void pool_free(struct pool *pool);

/* The number of @host, a name; a new one if it has none. Negative: -ENOSPC
 * when all are taken (answer SERVFAIL and report the limit), -EINVAL if it is
 * no name.
 */
int pool_number(struct pool *pool, const struct host *host);

void pool_v4(int number, uint8_t ret[4]);
void pool_v6(int number, uint8_t ret[16]);

/* True if @address lies in one of the two ranges, given out or not: it is
 * then never an address to dial
 */
bool pool_covers(const struct host *address);

/* The name behind @address, with @address's port. 0, or -ENOENT with *@ret
 * untouched: nobody was given that address.
 */
int pool_name(const struct pool *pool, const struct host *address,
	      struct host *ret);

/* The same in place, for whoever looks a name up before it asks a proxy for the
 * address; others stay what they are
 */
void pool_resolve(const struct pool *pool, struct host *host);

#endif /* NET_POOL_H */
