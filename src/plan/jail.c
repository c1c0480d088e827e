/* SPDX-License-Identifier: Apache-2.0 */
/* plan/jail.c - the egress jail: which addresses can be reached */

#include "plan/jail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"

/* Networks that cannot be reached, unless an --allow-ip lies in them. The gateway, the
 * machine's own addresses and the networks that it has routes to come on top of these:
 * they are known only when it runs.
 */
static const struct {
	const char *range;
	unsigned int use;
	const char *what;
} rows[] = {
#define RANGE(range, use, what) { range, use, what },
#define WRAPPED(range, byte, mask)
#include "policy/address-ranges.def"
#undef RANGE
#undef WRAPPED
};

static bool is_same(const struct host_range *a, const struct host_range *b)
{
	return a->kind == b->kind && a->bits == b->bits &&
	       !memcmp(a->address, b->address, sizeof(a->address));
}

static int add(struct jail *jail, const struct host_range *range, bool open,
	       const char *why, struct err *err)
{
	struct jail_route *route;

	for (size_t i = 0; i < jail->len; i++) {
		if (is_same(&jail->v[i].range, range))
			return 0;
	}
	if (jail->len == JAIL_ROUTES_MAX)
		return fail(err, -E2BIG, "--allow-ip: more than %d ranges",
			    JAIL_ROUTES_MAX);
	route = vec_push(jail);
	route->range = *range;
	route->open = open;
	route->why = why;
	return 0;
}

static int add_allowed(struct jail *jail, const struct policy *policy,
		       struct err *err)
{
	const struct list_rules *rules = &policy->lists[LIST_ALLOW_IPS];
	int r = 0;

	for (size_t i = 0; !r && i < rules->len; i++) {
		const struct list_rule *rule = &rules->v[i];
		struct host_range range = { 0 };
		auto_buf struct buf who = { 0 };

		origin_describe(&rule->origin, &who);
		if (host_range_parse(rule->text, strlen(rule->text), &range))
			return fail(err, -EINVAL, "%s: '%s' is not an address or a range (10.1.2.3, 10.1.0.0/16)",
				    buf_str(&who), rule->text);
		if (!range.bits)
			return fail(err, -EINVAL, "%s: '%s' is every address, which is no jail; --net host shares the host's network",
				    buf_str(&who), rule->text);
		r = add(jail, &range, true, "allowed by --allow-ip or allowIps",
			err);
	}
	return r;
}

static struct host first_of(const struct host_range *range)
{
	struct host host;

	host_of_address(range->address, range->kind == HOST_IPV4 ? 4 : 16, 0,
			&host);
	return host;
}

/* Which families resolv.conf's servers have: pasta forwards a question only to
 * a server of the family it came in. Without any, the C library asks IPv4.
 */
static void find_resolvers(struct jail *jail, const char *text)
{
	static const char word[] = "nameserver";

	while (*text) {
		const char *end = text + strcspn(text, "\n"), *p = text;
		struct host_range range = { 0 };

		text = *end ? end + 1 : end;
		if (strncmp(p, word, sizeof(word) - 1) != 0)
			continue;
		p += sizeof(word) - 1;
		p += strspn(p, " \t");
		if (host_range_parse(p, strcspn(p, " \t\r\n#;"), &range) < 0)
			continue;	/* Not an address, or one with a scope */
		if (range.kind == HOST_IPV4)
			jail->forward4 = true;
		else
			jail->forward6 = true;
	}
	jail->forward4 = jail->forward4 || !jail->forward6;
}

static int add_forward(struct jail *jail, const char *address, struct err *err)
{
	struct host_range range = { 0 };

	return host_range_parse(address, strlen(address), &range) < 0 ? 0 :
		add(jail, &range, true, "pasta, which asks the host's resolvers",
		    err);
}

bool jail_opens(const struct jail *jail, const struct host_range *range)
{
	const struct host first = first_of(range);

	for (size_t i = 0; i < jail->len; i++) {
		const struct jail_route *route = &jail->v[i];

		if (route->open && route->range.kind == range->kind &&
		    route->range.bits <= range->bits &&
		    host_range_has(&route->range, &first))
			return true;
	}
	return false;
}

static int block_one(struct jail *jail, const struct host_range *range,
		     const char *what, struct err *err)
{
	return jail_opens(jail, range) ? 0 : add(jail, range, false, what, err);
}

/* The range, and for IPv4 the same behind NAT64 (64:ff9b::/96) and 6to4 (2002::/16) */
static int block(struct jail *jail, const char *text, const char *what,
		 struct err *err)
{
	struct host_range range = { 0 }, nat64, six;
	int r = host_range_parse(text, strlen(text), &range);

	if (!r)
		r = block_one(jail, &range, what, err);
	if (r < 0 || range.kind != HOST_IPV4)
		return r;
	nat64 = six = (struct host_range){ .kind = HOST_IPV6 };
	memcpy(nat64.address, "\x00\x64\xff\x9b", 4);
	memcpy(nat64.address + 12, range.address, 4);
	nat64.bits = (uint8_t)(96 + range.bits);
	memcpy(six.address, "\x20\x02", 2);
	memcpy(six.address + 2, range.address, 4);
	six.bits = (uint8_t)(16 + range.bits);
	r = block_one(jail, &nat64, what, err);
	return r < 0 ? r : block_one(jail, &six, what, err);
}

int jail_plan(const struct policy *policy, const char *resolv,
	      struct jail *ret, struct err *err)
{
	int r;

	ret->on = net_is_jail(policy->net);
	r = add_allowed(ret, policy, err);
	if (!ret->on || r < 0)
		return r;
	if (policy->net == NET_JAIL)	/* Else names are resolved outside */
		find_resolvers(ret, resolv);
	if (ret->forward4)
		r = add_forward(ret, JAIL_FORWARD4, err);
	if (!r && ret->forward6)
		r = add_forward(ret, JAIL_FORWARD6, err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(rows); i++) {
		if (rows[i].use & RANGE_JAIL)
			r = block(ret, rows[i].range, rows[i].what, err);
	}
	return r;
}

void jail_done(struct jail *jail)
{
	free(jail->v);
	*jail = (struct jail){ 0 };
}

const struct jail_route *jail_find(const struct jail *jail,
				   const struct host *host)
{
	const struct jail_route *best = NULL;

	for (size_t i = 0; i < jail->len; i++) {
		const struct jail_route *route = &jail->v[i];

		if (host_range_has(&route->range, host) &&
		    (!best || route->range.bits > best->range.bits))
			best = route;
	}
	return best && !best->open ? best : NULL;
}
