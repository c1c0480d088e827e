/* SPDX-License-Identifier: Apache-2.0 */
/* gate/address.c - which addresses a name may resolve to */

#include "gate/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/own.h"
#include "ipc/listener.h"

static const struct address_range ranges[] = {
#define RANGE(range, use, what) { range, what, "resolved to " what, use },
#define WRAPPED(range, byte, mask)
#include "policy/address-ranges.def"
#undef RANGE
#undef WRAPPED
};

static const struct wrapper {
	const char *range;
	unsigned int byte;
	uint8_t mask;
} wrappers[] = {
#define RANGE(range, use, what)
#define WRAPPED(range, byte, mask) { range, byte, mask },
#include "policy/address-ranges.def"
#undef RANGE
#undef WRAPPED
};

/* These cannot be registered on the internet, so an outsider cannot point them at an
 * address of this machine. Names for tests (.test) are left out on purpose: tests of this
 * guard need names that it refuses.
 */
static const char *const private_names[] = {
	"corp", "home", "home.arpa", "internal", "intranet", "lan", "local",
	"localdomain", "private",
};

static bool is_in(const char *range, const struct host *address)
{
	struct host_range r;

	/* A test parses every row, so none is ignored here */
	return !host_range_parse(range, strlen(range), &r) &&
	       host_range_has(&r, address);
}

bool address_is_private_name(const struct host *host)
{
	const size_t n = strlen(host->name);

	if (host->kind != HOST_NAME)
		return false;
	if (!strchr(host->name, '.'))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(private_names); i++) {
		const size_t len = strlen(private_names[i]);

		if (n > len && host->name[n - len - 1] == '.' &&
		    !strcmp(host->name + n - len, private_names[i]))
			return true;
	}
	return false;
}

const struct address_range *address_range_of(const struct host *address)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (is_in(ranges[i].range, address))
			return &ranges[i];
	}
	return NULL;
}

/* One address as it stands, without what it may wrap */
static const char *check_plain(const struct policy *policy, const struct host *host,
			       const struct host *address, bool own)
{
	const struct address_range *range;

	if (host_address_is_denied(policy, address))
		return "resolved to an address on the deny list";
	if (host_is_localhost(host))
		return address_is_loopback(address) ?
			NULL : "resolved to an address that is not loopback";
	if (host_address_is_named(policy, address))
		return NULL;
	if (own)
		return "resolved to an address of this machine";
	range = address_range_of(address);
	return !range || ((range->use & RANGE_PRIVATE) && address_is_private_name(host))
		       ? NULL : range->reason;
}

bool address_unwrap(const struct host *address, size_t *next,
		    struct host *ret)
{
	while (*next < ARRAY_SIZE(wrappers)) {
		const struct wrapper *w = &wrappers[(*next)++];
		uint8_t v4[4];

		if (!is_in(w->range, address))
			continue;
		for (unsigned int k = 0; k < sizeof(v4); k++)
			v4[k] = address->address[w->byte + k] ^ w->mask;
		host_of_address(v4, sizeof(v4), address->port, ret);
		return true;
	}
	return false;
}

const char *address_guard(const struct policy *policy, const struct host *host,
			  const struct host *address, bool own)
{
	const char *reason;
	struct host inner;
	size_t next = 0;

	if (address->kind == HOST_NAME)
		return "did not resolve to an address";
	reason = check_plain(policy, host, address, own);
	if (reason || host_address_is_named(policy, address))
		return reason;

	while (!reason && address_unwrap(address, &next, &inner))
		reason = check_plain(policy, host, &inner, false);
	return reason;
}

bool address_is_loopback(const struct host *address)
{
	return address->kind == HOST_IPV4 ? address->address[0] == 127
		: address->kind == HOST_IPV6 &&
		  !memcmp(address->address, &in6addr_loopback, 16);
}

void address_loopback(enum host_kind kind, uint16_t port, struct host *ret)
{
	static const uint8_t four[4] = { 127, 0, 0, 1 };

	if (kind == HOST_IPV4)
		host_of_address(four, sizeof(four), port, ret);
	else
		host_of_address(in6addr_loopback.s6_addr, 16, port, ret);
}

int address_from_sockaddr(const struct sockaddr *sa, socklen_t len,
			  struct host *ret)
{
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		host_of_address((const uint8_t *)&in.sin_addr, 4,
				ntohs(in.sin_port), ret);
		return 0;
	}
	if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		host_of_address((const uint8_t *)&in6.sin6_addr, 16,
				ntohs(in6.sin6_port), ret);
		return 0;
	}
	return -EAFNOSUPPORT;
}

int address_to_sockaddr(const struct host *address,
			struct sockaddr_storage *ret, socklen_t *len)
{
	if (address->kind == HOST_IPV4) {
		struct sockaddr_in in = {
			.sin_family = AF_INET,
			.sin_port = htons(address->port),
		};

		memcpy(&in.sin_addr, address->address, 4);
		memcpy(ret, &in, sizeof(in));
		*len = sizeof(in);
		return 0;
	}
	if (address->kind == HOST_IPV6) {
		struct sockaddr_in6 in6 = {
			.sin6_family = AF_INET6,
			.sin6_port = htons(address->port),
		};

		memcpy(&in6.sin6_addr, address->address, 16);
		memcpy(ret, &in6, sizeof(in6));
		*len = sizeof(in6);
		return 0;
	}
	return -EAFNOSUPPORT;
}

void address_client(const struct host *from, const struct host *to, bool udp,
		    struct listener_client *ret)
{
	*ret = (struct listener_client){ 0 };
	if (from->kind != to->kind || from->kind == HOST_NAME)
		return;
	ret->family = from->kind == HOST_IPV6 ? 6 : 4;
	ret->udp = udp;
	ret->port = from->port;
	ret->to_port = to->port;
	memcpy(ret->address, from->address, sizeof(ret->address));
	memcpy(ret->to, to->address, sizeof(ret->to));
}

void address_of_client(int fd, struct listener_client *ret)
{
	struct sockaddr_storage a, b;
	socklen_t a_len = sizeof(a), b_len = sizeof(b);
	struct host from, to;

	*ret = (struct listener_client){ 0 };
	if (!getpeername(fd, (struct sockaddr *)&a, &a_len) &&
	    !getsockname(fd, (struct sockaddr *)&b, &b_len) &&
	    !address_from_sockaddr((struct sockaddr *)&a, a_len, &from) &&
	    !address_from_sockaddr((struct sockaddr *)&b, b_len, &to))
		address_client(&from, &to, false, ret);
}
