/* SPDX-License-Identifier: Apache-2.0 */
/* gate/fake-ip.h - an address for each allowed name, for the life of a sandbox
 *
 * 198.18.0.0/15 (set aside for measurements, never on the internet) and a ULA
 * /64. A name keeps its number; its IPv4 and IPv6 address are that number in
 * either range, so both lead back to it. Nothing is ever given back: a program
 * may hold an address for as long as it likes.
 */

#ifndef GATE_FAKE_IP_H
#define GATE_FAKE_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

struct fake_ip;

enum { FAKE_IP_NAMES_MAX = 8192 };		/* "*.a.b" allows any number of names */

struct fake_ip *fake_ip_new(void);

/* The number of @host, a name; a new one if it has none. Negative: -ENOSPC
 * when all are taken (answer SERVFAIL and report the limit), -EINVAL if it is
 * no name.
 */
int fake_ip_number(struct fake_ip *pool, const struct host *host);

void fake_ip_v4(int number, uint8_t ret[4]);
void fake_ip_v6(int number, uint8_t ret[16]);

/* True if @address lies in one of the two ranges, given out or not: it is
 * then never an address to dial
 */
bool fake_ip_covers(const struct host *address);

/* The name behind @address, with @address's port. 0, or -ENOENT with *@ret
 * untouched: no name has that address.
 */
int fake_ip_name(const struct fake_ip *pool, const struct host *address,
	      struct host *ret);

/* The same in place, for clients that look a name up before they ask a proxy for the
 * address; others stay what they are
 */
void fake_ip_resolve(const struct fake_ip *pool, struct host *host);

#endif /* GATE_FAKE_IP_H */
