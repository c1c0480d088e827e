/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/host.c - host names from the wire, and patterns for them
 *
 * Theory of operation: every destination, whatever protocol named it, becomes
 * one struct host here, before anything is matched, resolved, dialled or
 * logged. What the C library would read differently from us must not pass:
 * getaddrinfo() takes "127.1", "0x7f.1" and "2130706433" for addresses and
 * stops at a NUL. So a name is plain ASCII, and whatever ends like a number
 * is an address in its one canonical spelling, or nothing.
 */

#include "policy/host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

enum {
	LABEL_MAX = 63,
	PORT_DIGITS_MAX = 5,
	IPV6_TEXT_MAX = 45,
	HTTP_PROXY_PORT = 80,
};

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || isdigit((unsigned char)c) || c == '-' ||
	       c == '_';
}

/* An address in the only spelling that inet_pton() takes: a dotted quad has four
 * decimal numbers without leading zeros
 */
static bool address_parse(int family, const char *text, size_t n, uint8_t *ret)
{
	char copy[IPV6_TEXT_MAX + 1];

	if (!n || n > IPV6_TEXT_MAX || memchr(text, '\0', n))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return inet_pton(family, copy, ret) == 1;
}

void host_of_address(const uint8_t *address, size_t n, uint16_t port,
		     struct host *ret)
{
	struct host h = { .kind = HOST_IPV4, .port = port };

	if (n == 16 && !memcmp(address, mapped_prefix, sizeof(mapped_prefix))) {
		address += sizeof(mapped_prefix);
		n = 4;
	}
	memcpy(h.address, address, n);
	if (n == 16)
		h.kind = HOST_IPV6;
	(void)inet_ntop(n == 16 ? AF_INET6 : AF_INET, h.address, h.name,
			sizeof(h.name));
	*ret = h;
}

/* What a resolver might take for a number, from @label to the end */
static bool is_numeric(const char *label, size_t n)
{
	if (n >= 2 && label[0] == '0' && label[1] == 'x')
		return true;
	return strspn(label, "0123456789") >= n;
}

/* Fold @n bytes to @ret, which is large enough; false if they are not a name */
static bool name_fold(const char *text, size_t n, char *ret)
{
	size_t label = 0;	/* Where the current label starts */

	for (size_t i = 0; i <= n; i++) {
		const char c = i < n ? (char)tolower((unsigned char)text[i]) : '.';

		if (c == '.') {
			if (i == label || i - label > LABEL_MAX ||
			    ret[label] == '-' || ret[i - 1] == '-')
				return false;
			if (i < n)
				label = i + 1;
		} else if (!is_name_byte(c)) {
			return false;
		}
		if (i < n)
			ret[i] = c;
	}
	return !is_numeric(ret + label, n - label);
}

int host_parse(const char *text, size_t n, uint16_t port, struct host *ret)
{
	struct host h = { .kind = HOST_NAME, .port = port };
	uint8_t address[16];

	if (n && memchr(text, ':', n)) {
		if (!address_parse(AF_INET6, text, n, address))
			return -EINVAL;
		host_of_address(address, 16, port, ret);
		return 0;
	}
	if (n && text[n - 1] == '.')
		n--;
	if (address_parse(AF_INET, text, n, address)) {
		host_of_address(address, 4, port, ret);
		return 0;
	}
	if (!n || n > HOST_NAME_MAX_LEN || !name_fold(text, n, h.name))
		return -EINVAL;
	*ret = h;
	return 0;
}

/* A number without leading zeros in @n bytes, at most @max */
static bool number_parse(const char *text, size_t n, unsigned int max,
			 unsigned int *ret)
{
	unsigned int value = 0;

	if (!n || n > PORT_DIGITS_MAX || (n > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (unsigned int)(text[i] - '0');
	}
	*ret = value;
	return value <= max;
}

int host_parse_authority(const char *text, size_t n, uint16_t port,
			 struct host *ret)
{
	const bool bracket = n && text[0] == '[';
	const char *name = text + bracket;
	const char *end = n ? memchr(text, bracket ? ']' : ':', n) : NULL;
	const char *rest = end ? end + bracket : text + n;
	const size_t rest_n = (size_t)(text + n - rest);
	unsigned int number = port;
	struct host h;

	if ((bracket && !end) ||
	    (rest_n && (*rest != ':' ||
			!number_parse(rest + 1, rest_n - 1, UINT16_MAX, &number))) ||
	    !number)
		return -EINVAL;
	n = (size_t)((end ? end : text + n) - name);
	/* Brackets are for IPv6, and IPv6 is for brackets */
	if (bracket != (n && memchr(name, ':', n) != NULL))
		return -EINVAL;
	if (host_parse(name, n, (uint16_t)number, &h) < 0)
		return -EINVAL;
	*ret = h;
	return 0;
}

bool host_is_same(const struct host *a, const struct host *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == HOST_NAME)
		return !strcmp(a->name, b->name);
	return !memcmp(a->address, b->address, a->kind == HOST_IPV4 ? 4 : 16);
}

bool host_is_localhost(const struct host *host)
{
	static const char local[] = "localhost";
	const size_t n = strlen(host->name), skip = sizeof(local) - 1;

	return host->kind == HOST_NAME && n >= skip &&
	       !strcmp(host->name + n - skip, local) &&
	       (n == skip || host->name[n - skip - 1] == '.');
}

void host_format(const struct host *host, uint16_t without, struct buf *out)
{
	if (host->kind == HOST_IPV6)
		buf_addc(out, '[');
	buf_adds(out, host->name);
	if (host->kind == HOST_IPV6)
		buf_addc(out, ']');
	if (host->port && host->port != without) {
		buf_addc(out, ':');
		buf_addu(out, host->port);
	}
}

int host_range_parse(const char *text, size_t n, struct host_range *ret)
{
	const char *slash = n ? memchr(text, '/', n) : NULL;
	size_t name_n = slash ? (size_t)(slash - text) : n;
	const size_t tail = slash ? n - name_n - 1 : 0;
	struct host_range range = { 0 };
	unsigned int bits, width;

	if (name_n >= 2 && text[0] == '[' && text[name_n - 1] == ']') {
		text++;
		name_n -= 2;
	}
	if (address_parse(AF_INET, text, name_n, range.address))
		range.kind = HOST_IPV4;
	else if (address_parse(AF_INET6, text, name_n, range.address))
		range.kind = HOST_IPV6;
	else
		return -EINVAL;
	bits = width = range.kind == HOST_IPV4 ? 32 : 128;
	if (slash && !number_parse(slash + 1, tail, width, &bits))
		return -EINVAL;
	for (unsigned int i = bits; i < width; i++) {
		if (range.address[i / 8] & 0x80 >> i % 8)
			return -EINVAL;
	}
	/* Hosts hold mapped addresses as IPv4: such a range holds nothing */
	if (range.kind == HOST_IPV6 && bits >= 96 &&
	    !memcmp(range.address, mapped_prefix, sizeof(mapped_prefix)))
		return -EINVAL;
	range.bits = (uint8_t)bits;
	*ret = range;
	return 0;
}

bool host_range_has(const struct host_range *range, const struct host *host)
{
	const unsigned int bytes = range->bits / 8, rest = range->bits % 8;

	if (host->kind != range->kind ||
	    memcmp(host->address, range->address, bytes) != 0)
		return false;
	return !rest || !((host->address[bytes] ^ range->address[bytes]) >>
			  (8 - rest));
}

int proxy_parse(const char *url, struct host *ret_host, const char **ret_user,
		size_t *ret_n, struct err *err)
{
	static const char scheme[] = "http://";
	const char *p = url, *at;
	struct host host;
	size_t n;

	if (!strncasecmp(p, scheme, sizeof(scheme) - 1))
		p += sizeof(scheme) - 1;
	else if (strstr(p, "://"))
		return fail(err, -EINVAL, "only http:// proxies are supported");
	n = strcspn(p, "/?#");
	if (p[n] && strcmp(p + n, "/") != 0)
		return fail(err, -EINVAL,
			    "a proxy's URL must not have a path");
	at = memrchr(p, '@', n);
	if (host_parse_authority(at ? at + 1 : p,
				 at ? n - (size_t)(at + 1 - p) : n,
				 HTTP_PROXY_PORT, &host) < 0)
		return fail(err, -EINVAL,
			    "a proxy is a host and a port, as in 'http://proxy.example.com:3128'");
	*ret_host = host;
	*ret_user = at ? p : NULL;
	*ret_n = at ? (size_t)(at - p) : 0;
	return 0;
}

/* Patterns. The grammar is the same for every source of policy:
 *
 *	a.b  redis  localhost		that name, in any case
 *	*.a.b				names below a.b at any depth, never a.b
 *	10.1.2.3  [fd00::1]		that address
 *	10.0.0.0/8  fd00::/8  [fd00::]/8	those addresses
 *	*				everything; denials only
 *
 * and each may end in ":port" (an IPv6 range then needs its brackets). A name
 * pattern never matches an address and an address pattern never matches a
 * name: gate/destination.c checks the addresses that a name resolves to.
 */

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

/* True for "co.uk" and its like: names that anyone can register in, under the
 * two-letter domain of any country
 */
static bool is_registry(const char *name)
{
	static const char labels[] =
		"ac co com edu go gob gouv gov ltd mil ne net nhs nom or org plc sch";
	const size_t n = strcspn(name, ".");

	return name[n] && strlen(name + n + 1) == 2 &&
	       text_matches(labels, name, n);
}

/* Anyone gets a name below these from their one owner. People allow them on
 * purpose, so the pattern holds.
 */
const char *host_pattern_advice(const struct host_pattern *pattern)
{
	static const char *const shared[] = {
		"amazonaws.com", "azurewebsites.net", "blob.core.windows.net",
		"cloudfront.net", "fly.dev", "github.io", "gitlab.io",
		"googleusercontent.com", "herokuapp.com", "netlify.app",
		"ngrok.io", "ngrok-free.app", "pages.dev", "readthedocs.io",
		"trycloudflare.com", "vercel.app", "web.app", "workers.dev",
	};

	if (pattern->kind != PATTERN_BELOW || pattern->deny)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		if (ends_in(shared[i], strlen(shared[i]), pattern->name))
			return "anyone can register a name below it; name the hosts that are meant";
	}
	return NULL;
}

/* The end of what is before ":port", or NULL with a message. *@port stays 0
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

/* Why the @n bytes at @text are not a valid pattern */
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
	/* "::1" without brackets was refused with the port: brackets or a prefix here */
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
		(void)fail(err, -EINVAL, "'%s' is too broad: anyone can register names below '%s'; name the hosts that are meant",
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
