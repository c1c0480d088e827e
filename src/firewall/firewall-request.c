/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/request.c - what is asked for, from words to addresses */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "firewall/firewall.h"
#include "firewall/local.h"
#include "firewall/names.h"
#include "firewall/ranges.h"

static void targets_done(struct target_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->v[i].text);
	free(list->v);
}

void firewall_done(struct firewall *f)
{
	for (size_t i = 0; i < f->names.len; i++)
		free(f->names.v[i]);
	free(f->names.v);
	range_list_done(&f->ranges);
	range_list_done(&f->resolvers);
	targets_done(&f->must);
	targets_done(&f->must_not);
}

static int allow_name(struct firewall *f, const char *name, struct err *err)
{
	for (size_t i = 0; i < f->names.len; i++) {
		if (!strcmp(f->names.v[i], name))
			return 0;
	}
	if (f->names.len == FIREWALL_NAMES_MAX)
		return fail(err, -E2BIG, "too many names: %d at most",
			    FIREWALL_NAMES_MAX);
	*vec_push(&f->names) = mem_strdup(name);
	return 0;
}

int firewall_allow(struct firewall *f, const char *text, struct err *err)
{
	const size_t n = strlen(text);
	struct host_range range;
	struct host host;

	if (host_range_parse(text, n, &range) == 0)
		return range_list_add(&f->ranges, &range) < 0 ?
			fail(err, -E2BIG, "too many networks: %d at most",
			     RULESET_RANGES_MAX) : 0;
	if (strchr(text, '/'))
		return fail(err, -EINVAL, "'%s' is not a network like 192.0.2.0/24 or 2001:db8::/32 (bits beyond the prefix must be 0)",
			    text);
	if (host_parse(text, n, 0, &host) == 0 && host.kind == HOST_NAME)
		return allow_name(f, host.name, err);
	if (strchr(text, '*'))
		return fail(err, -EINVAL, "'%s': a pattern has no addresses; name each host, or use 'cloche run --allow'",
			    text);
	if (host_parse_authority(text, n, 0, &host) == 0)
		return fail(err, -EINVAL, "'%s': ports are not told apart here; allow '%s'",
			    text, host.name);
	return fail(err, -EINVAL, "'%s' is not a host name, an address or a network",
		    text);
}

int firewall_allow_file(struct firewall *f, const char *path, struct err *err)
{
	return ranges_read(path, &f->ranges, err);
}

int firewall_resolver(struct firewall *f, const char *text, struct err *err)
{
	struct host host;

	if (host_parse(text, strlen(text), 0, &host) < 0 ||
	    host.kind == HOST_NAME)
		return fail(err, -EINVAL, "'%s' is not the address of a resolver",
			    text);
	return range_list_add_host(&f->resolvers, &host);
}

int firewall_target(struct target_list *list, const char *text,
		    struct err *err)
{
	struct firewall_target *target;
	struct host host;

	if (host_parse_authority(text, strlen(text), 0, &host) < 0)
		return fail(err, -EINVAL, "'%s' is not HOST:PORT, ADDRESS:PORT or [ADDRESS]:PORT",
			    text);
	if (list->len == FIREWALL_TARGETS_MAX)
		return fail(err, -E2BIG, "too many hosts to verify: %d at most",
			    FIREWALL_TARGETS_MAX);
	target = vec_push(list);
	target->text = mem_strdup(text);
	target->host = host;
	return 0;
}

int64_t firewall_now_ms(void)
{
	return now_ms(CLOCK_MONOTONIC);
}

int firewall_look_up(const struct firewall *f, const char *name,
		     struct ruleset *r, int64_t now_ms, struct err *err)
{
	struct resolver_answer answer;
	struct host host;
	int result = host_parse(name, strlen(name), 0, &host);

	if (result == 0)
		result = names_resolve(name, &f->resolvers, &answer, err);
	if (result < 0)
		return result;
	for (size_t i = 0; i < answer.len; i++) {
		const char *what = names_guard(&host, &answer.v[i]);

		if (what && !range_list_has(&r->ranges, &answer.v[i]) &&
		    !range_list_has(&r->lan, &answer.v[i]))
			return fail(err, -EACCES, "'%s' leads to %s, %s; if that is meant, allow the address itself with --allow %s",
				    name, answer.v[i].name, what,
				    answer.v[i].name);
	}
	for (size_t i = 0; i < answer.len; i++) {
		if (named_list_add(&r->names, name, &answer.v[i], now_ms) < 0)
			return fail(err, -E2BIG, "the names have too many addresses: %d at most",
				    RULESET_ADDRESSES_MAX);
	}
	return 0;
}

static void copy(struct range_list *to, const struct range_list *from)
{
	for (size_t i = 0; i < from->len; i++)
		(void)range_list_add(to, &from->v[i]);
	range_list_tidy(to);
}

void firewall_mark(struct ruleset *r, int64_t since)
{
	snprintf(r->id, sizeof(r->id), RULESET_MARK "%lld_%d",
		 (long long)since, (int)getpid());
}

int firewall_plan(const struct firewall *f, struct ruleset *ret,
		  struct err *err)
{
	const int64_t now_ms = firewall_now_ms();
	int r = 0;

	firewall_mark(ret, time(NULL));
	if (!f->names.len && !f->ranges.len && !f->lan)
		return fail(err, -EINVAL, "nothing is allowed: give --allow HOST, --ranges FILE or --lan");
	copy(&ret->ranges, &f->ranges);
	if (f->resolvers.len)
		copy(&ret->resolvers, &f->resolvers);
	else
		local_resolvers(&ret->resolvers);
	if (f->lan)
		r = local_lan(&ret->lan, err);
	for (size_t i = 0; i < f->names.len && r == 0; i++)
		r = firewall_look_up(f, f->names.v[i], ret, now_ms, err);
	return r;
}
