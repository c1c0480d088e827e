/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-host.c - hosts have one spelling; patterns never surprise
 *
 * Input: a pattern, a newline, and the bytes of a host from the wire.
 */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds)
{
	if (!holds)
		abort();
}

/* What is accepted reads back as itself, and as nothing else for libc */
static void check_host(const struct host *h)
{
	auto_buf struct buf b = { 0 };
	struct in_addr v4;
	struct host again;

	want(strlen(h->name) <= HOST_NAME_MAX_LEN);
	want(!host_parse(h->name, strlen(h->name), h->port, &again));
	want(host_is_same(h, &again) && !strcmp(h->name, again.name));
	host_format(h, 0, &b);
	want(!host_parse_authority(buf_str(&b), b.len, 0, &again));
	want(host_is_same(h, &again) && h->port == again.port);
	if (h->kind == HOST_NAME)
		want(!inet_aton(h->name, &v4));
}

static void check_pattern(const char *text, bool deny, const struct host *h)
{
	struct host_pattern *p = host_pattern_new(text, deny, NULL);

	if (!p)
		return;
	if (h && host_pattern_match(p, h) && h->kind == HOST_NAME && !deny) {
		const char *name = strncmp(text, "*.", 2) ? text : text + 1;

		/* The end of an allowed name is written in the pattern */
		want(strcasestr(name, strrchr(h->name, '.') ?
				strrchr(h->name, '.') : h->name) != NULL);
	}
	(void)host_pattern_advice(p);
	host_pattern_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, '\n', size) : NULL;
	const size_t n = cut ? (size_t)(cut - data) : size;
	auto_free char *text = mem_strndup((const char *)data, n);
	const char *wire = cut ? (const char *)cut + 1 : (const char *)data;
	const size_t wire_n = cut ? size - n - 1 : size;
	struct host_range range;
	struct host h;
	bool known = !host_parse(wire, wire_n, 443, &h);

	if (known)
		check_host(&h);
	check_pattern(text, false, known ? &h : NULL);
	check_pattern(text, true, known ? &h : NULL);
	if (!host_parse_authority(wire, wire_n, 0, &h))
		check_host(&h);
	(void)host_range_parse(wire, wire_n, &range);
	return 0;
}
