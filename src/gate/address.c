/* SPDX-License-Identifier: Apache-2.0 */
/* net/address.c - which addresses a name may resolve to */

#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/own.h"
#include "plan/listener.h"

enum row_kind { ROW_REFUSED, ROW_PRIVATE };

static const struct row {
	const char *range;
	enum row_kind kind;
	const char *reason;
} rows[] = {
#define REFUSED(range, what) { range, ROW_REFUSED, "resolved to " what },
#define PRIVATE(range, what) { range, ROW_PRIVATE, "resolved to " what },
#define WRAPPED(range, byte, mask)
#include "net/address-ranges.def"
#undef REFUSED
#undef PRIVATE
#undef WRAPPED
};

static const struct wrapper {
	const char *range;
	unsigned int byte;
	uint8_t mask;
} wrappers[] = {
#define REFUSED(range, what)
#define PRIVATE(range, what)
#define WRAPPED(range, byte, mask) { range, byte, mask },
#include "net/address-ranges.def"
#undef REFUSED
#undef PRIVATE
#undef WRAPPED
};

static const char *const private_names[] = {
#define PRIVATE_NAME(labels) labels,
#include "net/private-names.def"
#undef PRIVATE_NAME
};

static bool is_in(const char *range, const struct host *address)
{
	struct host_range r;

	/* A row that does not parse holds nothing: a test reads them all */
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

/* One address as it stands, without what it may wrap */
static const char *judge(const struct policy *policy,
			 const struct address_own *own,
			 const struct host *host, const struct host *address)
{
	if (host_address_is_denied(policy, address))
		return "resolved to an address on the deny list";
	if (host_is_localhost(host))
		return is_in("127.0.0.0/8", address) || is_in("::1", address) ?
			NULL : "resolved to an address that is not loopback";
	if (host_address_is_named(policy, address))
		return NULL;
	for (size_t i = 0; own && i < own->len; i++) {
		if (host_is_same(&own->v[i], address))
			return "resolved to an address of this machine";
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!is_in(rows[i].range, address))
			continue;
		if (rows[i].kind == ROW_PRIVATE && address_is_private_name(host))
			return NULL;
		return rows[i].reason;
	}
	return NULL;
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

const char *address_guard(const struct policy *policy,
			  const struct address_own *own,
			  const struct host *host, const struct host *address)
{
	const char *reason;
	struct host inner;
	size_t next = 0;

	if (address->kind == HOST_NAME)
		return "did not resolve to an address";
	reason = judge(policy, own, host, address);
	if (reason || host_address_is_named(policy, address))
		return reason;

	while (!reason && address_unwrap(address, &next, &inner))
		reason = judge(policy, own, host, &inner);
	return reason;
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
