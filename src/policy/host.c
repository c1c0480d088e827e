/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/host.c - host names from the wire
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
#include <errno.h>
#include <string.h>

#include "base/buf.h"

enum {
	LABEL_MAX = 63,
	PORT_DIGITS_MAX = 5,
	IPV6_TEXT_MIN = 2, IPV6_TEXT_MAX = 45,
};

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

/* One decimal number of an IPv4 address; false at a leading zero or over 255 */
static bool octet_parse(const char *text, size_t n, size_t *at, uint8_t *ret)
{
	const size_t start = *at;
	unsigned int value = 0;

	for (; *at < n && is_digit(text[*at]) && value <= 255; ++*at)
		value = value * 10 + (unsigned int)(text[*at] - '0');
	*ret = (uint8_t)value;
	return *at > start && value <= 255 &&
	       (text[start] != '0' || *at == start + 1);
}

/* Four decimal numbers and three dots; nothing else is an address */
static bool ipv4_parse(const char *text, size_t n, uint8_t ret[4])
{
	size_t at = 0;

	for (int i = 0; i < 4; i++) {
		if (i && (at == n || text[at++] != '.'))
			return false;
		if (!octet_parse(text, n, &at, &ret[i]))
			return false;
	}
	return at == n;
}

static bool ipv6_parse(const char *text, size_t n, uint8_t ret[16])
{
	char copy[IPV6_TEXT_MAX + 1];

	if (n < IPV6_TEXT_MIN || n > IPV6_TEXT_MAX || memchr(text, '\0', n))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return inet_pton(AF_INET6, copy, ret) == 1;
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
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(label[i]))
			return false;
	}
	return true;
}

/* Fold @n bytes to @ret, which has room; false if they are not a name */
static bool name_fold(const char *text, size_t n, char *ret)
{
	size_t label = 0;	/* Where the current label starts */

	for (size_t i = 0; i <= n; i++) {
		const char c = i < n ? fold(text[i]) : '.';

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
		if (!ipv6_parse(text, n, address))
			return -EINVAL;
		host_of_address(address, 16, port, ret);
		return 0;
	}
	if (n && text[n - 1] == '.')
		n--;
	if (ipv4_parse(text, n, address)) {
		host_of_address(address, 4, port, ret);
		return 0;
	}
	if (!n || n > HOST_NAME_MAX_LEN || !name_fold(text, n, h.name))
		return -EINVAL;
	*ret = h;
	return 0;
}

static int port_parse(const char *text, size_t n, uint16_t *ret)
{
	unsigned int value = 0;

	if (!n || n > PORT_DIGITS_MAX || text[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(text[i]))
			return -EINVAL;
		value = value * 10 + (unsigned int)(text[i] - '0');
	}
	if (value > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)value;
	return 0;
}

int host_parse_authority(const char *text, size_t n, uint16_t port,
			 struct host *ret)
{
	const bool bracket = n && text[0] == '[';
	const char *name = text + bracket;
	const char *end = n ? memchr(text, bracket ? ']' : ':', n) : NULL;
	const char *rest = end ? end + bracket : text + n;
	const size_t rest_n = (size_t)(text + n - rest);
	struct host h;

	if (bracket && !end)
		return -EINVAL;
	if (rest_n && (*rest != ':' ||
		       port_parse(rest + 1, rest_n - 1, &port) < 0))
		return -EINVAL;
	if (!port)
		return -EINVAL;
	n = (size_t)((end ? end : text + n) - name);
	/* Brackets are for IPv6, and IPv6 is for brackets */
	if (bracket != (n && memchr(name, ':', n) != NULL))
		return -EINVAL;
	if (host_parse(name, n, port, &h) < 0)
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
	unsigned int bits = 0, width;

	if (name_n >= 2 && text[0] == '[' && text[name_n - 1] == ']') {
		text++;
		name_n -= 2;
	}
	if (ipv4_parse(text, name_n, range.address))
		range.kind = HOST_IPV4;
	else if (ipv6_parse(text, name_n, range.address))
		range.kind = HOST_IPV6;
	else
		return -EINVAL;
	width = range.kind == HOST_IPV4 ? 32 : 128;

	if (slash && (!tail || tail > 3 || (tail > 1 && slash[1] == '0')))
		return -EINVAL;
	for (size_t i = 0; i < tail; i++) {
		if (!is_digit(slash[1 + i]))
			return -EINVAL;
		bits = bits * 10 + (unsigned int)(slash[1 + i] - '0');
	}
	if (!slash)
		bits = width;
	if (bits > width)
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
