/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt-host.c - which patterns of hosts srt takes */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/srt.h"

static bool is_ipv6(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET6, text, &address) == 1;
}

/* 1 to 65535, without a zero before it */
static bool is_port(const char *text)
{
	const size_t n = strspn(text, "0123456789");

	return n && n <= 5 && !text[n] && *text != '0' &&
	       strtoul(text, NULL, 10) <= 65535;
}

/* No label may be empty, and there is more than one */
static bool has_labels(const char *name)
{
	const size_t n = strlen(name);

	return strchr(name, '.') && *name != '.' && name[n - 1] != '.';
}

bool srt_is_host(const char *text)
{
	if (is_ipv6(text))
		return true;
	if (strpbrk(text, ":/"))
		return false;
	if (!strcmp(text, "localhost"))
		return true;
	if (!strncmp(text, "*.", 2))
		return has_labels(text + 2) && !strstr(text + 2, "..");
	return !strchr(text, '*') && *text && has_labels(text);
}

/* "[address]" and "[address]:port": what is inside, without a zone */
static char *inside_brackets(const char *entry)
{
	const char *close = strchr(entry, ']');
	char *inner;

	if (!close || (close[1] && (close[1] != ':' || !is_port(close + 2))))
		return mem_strdup(entry);
	inner = mem_strndup(entry + 1, (size_t)(close - entry - 1));
	inner[strcspn(inner, "%")] = '\0';
	return inner;
}

char *srt_host_of(const char *entry)
{
	const char *colon = strrchr(entry, ':');

	if (*entry == '[')
		return inside_brackets(entry);
	if (!colon || strchr(entry, ':') != colon || !is_port(colon + 1))
		return mem_strdup(entry);
	return mem_strndup(entry, (size_t)(colon - entry));
}

bool srt_is_entry(const char *text)
{
	auto_free char *host = srt_host_of(text);
	const char *colon = strchr(text, ':');

	/* An address of many colons stands in brackets */
	if (colon && strchr(colon + 1, ':') && *text != '[')
		return false;
	return srt_is_host(host);
}
