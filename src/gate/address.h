/* SPDX-License-Identifier: Apache-2.0 */
/* gate/address.h - which addresses a name may resolve to
 *
 * A name that the policy allows is no permission to reach whatever its owner
 * puts in the DNS: the host's loopback, the LAN, a cloud's metadata service.
 */

#ifndef GATE_ADDRESS_H
#define GATE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "policy/host.h"

struct listener_client;
struct policy;

/* NULL if a connection for @host may be made to @address, which it resolved
 * to (for an address in the first place, both are the same); else why not, as
 * in "resolved to a loopback address". @address has the port. @own: it leads to an
 * interface of this machine. Check every address, and dial only those that passed.
 *
 * Refused whatever is allowed: what the policy denies by address. Refused
 * unless an allow rule names that address or a range that holds it: the rows
 * of address-ranges.def and @own. Rows marked private are open to names that
 * can't be public ("redis", "nas.local"). "localhost", where it is allowed,
 * is loopback and nothing else.
 */
const char *address_guard(const struct policy *policy, const struct host *host,
			  const struct host *address, bool own);

/**
 * struct address_range - A row of address-ranges.def
 * @what:	As in "a loopback address"
 * @reason:	"resolved to ", and that
 */
struct address_range {
	const char *range, *what, *reason;
	unsigned int use;
};

/* The first reserved range that holds @address, or NULL */
const struct address_range *address_range_of(const struct host *address);

/* True for names that cannot be registered on the internet: single labels, and
 * those below "local", "internal" and the like
 */
bool address_is_private_name(const struct host *host);

/* The IPv4 addresses that an IPv6 address carries (mapped, 6to4, NAT64 ...), one
 * after the other: *@next is 0 at first. False after the last.
 */
bool address_unwrap(const struct host *address, size_t *next,
		    struct host *ret);

/* True of 127.0.0.0/8 and ::1 */
bool address_is_loopback(const struct host *address);
/* 127.0.0.1 or ::1 */
void address_loopback(enum host_kind kind, uint16_t port, struct host *ret);

/* The host of a socket address, or the reverse. 0 or -EAFNOSUPPORT. */
int address_from_sockaddr(const struct sockaddr *sa, socklen_t len,
			  struct host *ret);
int address_to_sockaddr(const struct host *address,
			struct sockaddr_storage *ret, socklen_t *len);

/* Both ends of a client's connection to us, addresses of one family; else
 * @ret is empty
 */
void address_client(const struct host *from, const struct host *to, bool udp,
		    struct listener_client *ret);
/* The same of the connected socket @fd */
void address_of_client(int fd, struct listener_client *ret);

#endif /* GATE_ADDRESS_H */
