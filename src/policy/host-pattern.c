/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/host-pattern.c - patterns for host names
 *
 * Grammar, the same for every source of policy:
 *
 *	a.b  redis  localhost		that name, in any case
 *	*.a.b				names below a.b at any depth, never a.b
 *	10.1.2.3  [fd00::1]		that address
 *	10.0.0.0/8  fd00::/8  [fd00::]/8	those addresses
 *	*				everything; denials only
 *
 * and each may end in ":port" (an IPv6 range then needs its brackets). A name
 * pattern never matches an address and an address pattern never matches a
 * name: what a name resolves to is the address guard's business.
 */

#include "policy/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

/* A shorter prefix opens so much that it is a mistake; fc00::/7 is in use */
enum { IPV4_BITS_MIN = 8, IPV6_BITS_MIN = 7 };

enum pattern_kind { PATTERN_ANY, PATTERN_NAME, PATTERN_BELOW, PATTERN_RANGE };

/**
 * struct host_pattern - One compiled pattern
 * @kind:	Which of the forms above
 * @deny:	Belongs to a denial: see host_pattern_match()
 * @port:	0 if any port will do
 * @range:	For PATTERN_RANGE
 * @len:	Bytes of @name
 * @name:	For names, validated and folded, without "*."
 */
struct host_pattern {
	enum pattern_kind kind;
	bool deny;
	uint16_t port;
	struct host_range range;
	size_t len;
	char name[];
};

static bool ends_in(const char *name, size_t n, const char *suffix)
{
	const size_t len = strlen(suffix);

	return n >= len && !strcmp(name + n - len, suffix) &&
	       (n == len || name[n - len - 1] == '.');
}

/* True for "co.uk" and its like: names that strangers register in */
static bool is_registry(const char *name)
{
	static const char *const labels[] = {
#define REGISTRY(label) label,
#define SHARED(suffix)
#include "policy/suffixes.def"
#undef REGISTRY
#undef SHARED
	};
	const char *dot = strchr(name, '.');

	if (!dot || strlen(dot + 1) != 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (strlen(labels[i]) == (size_t)(dot - name) &&
		    !strncmp(labels[i], name, (size_t)(dot - name)))
			return true;
	}
	return false;
}

const char *host_pattern_advice(const struct host_pattern *pattern)
{
	static const char *const shared[] = {
#define REGISTRY(label)
#define SHARED(suffix) suffix,
#include "policy/suffixes.def"
#undef REGISTRY
#undef SHARED
	};

	if (pattern->kind != PATTERN_BELOW || pattern->deny)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		if (ends_in(shared[i], strlen(shared[i]), pattern->name))
			return "anybody can get a name below it; name the hosts that are meant";
	}
	return NULL;
}

/* The end of what is before ":port", or NULL with words. *@port stays 0
 * without one.
 */
static const char *split_port(const char *text, uint16_t *port,
			      struct err *err)
{
	const char *from = strrchr(text, '/'), *colon;
	uint64_t value;

	if (!from)
		from = strchr(text, ']');
	if (!from)
		from = text;
	colon = strchr(from, ':');
	if (!colon)
		return text + strlen(text);
	if (strchr(colon + 1, ':')) {
		(void)fail(err, -EINVAL, "'%s' is not a host pattern: an IPv6 address needs brackets, as in '[::1]'",
			   text);
		return NULL;
	}
	if (colon[1] == '0' || text_to_u64(colon + 1, UINT16_MAX, &value) < 0) {
		(void)fail(err, -EINVAL, "'%s' is not a host pattern: the port must be 1 to 65535",
			   text);
		return NULL;
	}
	*port = (uint16_t)value;
	return colon;
}

/* Why @n bytes at @text, which are no pattern, are none */
static const char *explain(const char *text, size_t n)
{
	const char *slash = memchr(text, '/', n);

	if (slash && text + strspn(text, "0123456789abcdefABCDEF.:[]") == slash &&
	    slash[1] >= '0' && slash[1] <= '9')
		return "write a range as its first address and a length, as in '10.0.0.0/8' or 'fd00::/8'";
	if (slash)
		return "write the host alone, without scheme or path";
	if (memchr(text, '*', n))
		return "'*' stands for whole labels at the start, as in '*.example.com'";
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return "write an international name in its xn-- form";
	}
	return "write a name like 'example.com', '*.example.com', an address or a range";
}

static struct host_pattern *pattern_make(enum pattern_kind kind,
					 const char *name)
{
	const size_t n = strlen(name);
	struct host_pattern *p = mem_zalloc(sizeof(*p) + n + 1);

	p->kind = kind;
	p->len = n;
	memcpy(p->name, name, n);
	return p;
}

static struct host_pattern *new_range(const char *text, bool deny,
				      const struct host_range *range,
				      struct err *err)
{
	const unsigned int least = range->kind == HOST_IPV4 ? IPV4_BITS_MIN
							    : IPV6_BITS_MIN;
	struct host_pattern *p;

	if (!deny && range->bits < least) {
		(void)fail(err, -EINVAL, "'%s' is too broad: allow /%u or longer",
			   text, least);
		return NULL;
	}
	p = pattern_make(PATTERN_RANGE, "");
	p->range = *range;
	return p;
}

/* The pattern in @n bytes at @text, its port already cut off */
static struct host_pattern *new_portless(const char *text, size_t n, bool deny,
					 struct err *err)
{
	const bool below = n > 2 && !memcmp(text, "*.", 2);
	const char *name = text + (below ? 2 : 0);
	struct host_range range;
	struct host h;

	if (n == 1 && *text == '*') {
		if (deny)
			return pattern_make(PATTERN_ANY, "");
		(void)fail(err, -EINVAL, "'*' is too broad: it can be denied, not allowed; name the hosts that are meant");
		return NULL;
	}
	/* A bare "::1" was refused with the port: brackets or a prefix here */
	if (!below && !host_range_parse(text, n, &range))
		return new_range(text, deny, &range, err);
	if (host_parse(name, n - (below ? 2 : 0), 0, &h) < 0 ||
	    h.kind != HOST_NAME) {
		(void)fail(err, -EINVAL, "'%s' is not a host pattern: %s", text,
			   explain(text, n));
		return NULL;
	}
	/* As in srt, of which a file may deny the longer ones */
	if (below && (!strchr(h.name, '.') || (!deny && is_registry(h.name)))) {
		(void)fail(err, -EINVAL, "'%s' is too broad: strangers register names below '%s'; name the hosts that are meant",
			   text, h.name);
		return NULL;
	}
	return pattern_make(below ? PATTERN_BELOW : PATTERN_NAME, h.name);
}

struct host_pattern *host_pattern_new(const char *text, bool deny,
				      struct err *err)
{
	uint16_t port = 0;
	const char *end = split_port(text, &port, err);
	struct host_pattern *p;

	if (!end)
		return NULL;
	p = new_portless(text, (size_t)(end - text), deny, err);
	if (p) {
		p->deny = deny;
		p->port = port;
	}
	return p;
}

void host_pattern_free(struct host_pattern *pattern)
{
	free(pattern);
}

bool host_pattern_match(const struct host_pattern *pattern,
			const struct host *host)
{
	if (pattern->port && host->port != pattern->port &&
	    (host->port || pattern->deny))
		return false;

	switch (pattern->kind) {
	case PATTERN_ANY:
		return true;
	case PATTERN_NAME:
		return host->kind == HOST_NAME &&
		       !strcmp(host->name, pattern->name);
	case PATTERN_BELOW: {
		const size_t n = strlen(host->name);

		return host->kind == HOST_NAME && n > pattern->len + 1 &&
		       ends_in(host->name, n, pattern->name);
	}
	case PATTERN_RANGE:
		return host_range_has(&pattern->range, host);
	}
	return pattern->deny;
}

uint16_t host_pattern_port(const struct host_pattern *pattern)
{
	return pattern->port;
}
