/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt-text.c - which texts srt takes, by the kind of their key */

#include "policy/srt-text.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/srt.h"

#define HOST_WORDS "Invalid domain pattern. Must be a valid domain (e.g., \"example.com\"), a wildcard (e.g., \"*.example.com\"), or a bracketed IPv6 literal (e.g., \"[::1]\", \"[2001:db8::1]:443\"). Overly broad patterns like \"*.com\" or \"*\" are not allowed for security reasons."

static bool is_variable(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      *c == '_' || (c > text && *c >= '0' && *c <= '9')))
			return false;
	}
	return *text;
}

static bool is_range(const char *text)
{
	const size_t n = strcspn(text, "/");
	auto_free char *host = mem_strndup(text, n);
	unsigned char address[sizeof(struct in6_addr)];
	const bool four = inet_pton(AF_INET, host, address) == 1;
	const bool six = inet_pton(AF_INET6, host, address) == 1;
	const char *bits = text + n + (text[n] == '/');
	const size_t digits = strspn(bits, "0123456789");

	if (!four && !six)
		return false;
	return !text[n] || (digits && digits <= 3 && !bits[digits] &&
			    strtoul(bits, NULL, 10) <= (four ? 32u : 128u));
}

static bool is_url(const char *text)
{
	const size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
	const char *rest = text + scheme + 1;
	const bool web = !strncasecmp(text, "http", 4) ||
			 !strncasecmp(text, "ws", 2);

	if (!scheme || text[scheme] != ':' || !*rest)
		return false;
	rest += web ? strspn(rest, "/\\") : 0;
	return !web || (*rest && !strchr("?#:", *rest) &&
			strcspn(rest, " <>^|") >= strcspn(rest, "/?#"));
}

/* Groups that catch, as far as can be told without running it */
static bool has_group(const char *pattern)
{
	bool class = false;

	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (*c == '[')
			class = true;
		else if (*c == ']')
			class = false;
		else if (!class && *c == '(' &&
			 (c[1] != '?' || (c[2] == '<' && c[3] != '=' &&
					  c[3] != '!')))
			return true;
	}
	return false;
}

const char *srt_judge_text(enum srt_kind kind, const char *text)
{
	const char *star = strchr(text, '*');
	auto_free char *host = NULL;

	switch (kind) {
	case SRT_WORD:
		return *text ? NULL : "String must contain at least 1 character(s)";
	case SRT_PATH:
		return *text ? NULL : "Path cannot be empty";
	case SRT_BINARY:
		return *text == '/' ? NULL : "Binary path must be absolute";
	case SRT_URL:
		return is_url(text) ? NULL : "Invalid url";
	case SRT_EXTRACT:
		return has_group(text) ? NULL :
			"extract must contain at least one capturing group — group 1 is the credential value to mask (e.g. \"token:\\s*(\\S+)\").";
	case SRT_VARIABLE:
		return is_variable(text) ? NULL :
			"Environment variable name must start with a letter or underscore and contain only letters, digits, and underscores";
	case SRT_SERVICE:
		return !star || !star[1] ? NULL :
			"Wildcards are only allowed as a single trailing \"*\" (e.g., \"com.example.*\" or \"*\" for all services).";
	case SRT_ALLOWED:
		return srt_is_entry(text) ? NULL :
			HOST_WORDS " An optional \":port\" suffix (1-65535) restricts the entry to that port.";
	case SRT_DENIED:
		host = srt_host_of(text);
		return !strcmp(host, "*") || srt_is_entry(text) ? NULL :
			HOST_WORDS " In deniedDomains a bare \"*\" (deny-all) is also accepted, and an optional \":port\" suffix (1-65535) restricts the entry to that port.";
	case SRT_HOST:
		return srt_is_host(text) ? NULL : HOST_WORDS;
	case SRT_RANGE:
		return is_range(text) ? NULL :
			"Invalid IP address or CIDR range. Use an IPv4/IPv6 literal or CIDR, e.g. \"10.0.0.0/8\", \"192.168.1.10\", \"fc00::/7\" (IPv6 unbracketed).";
	default:
		return NULL;
	}
}
