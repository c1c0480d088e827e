/* SPDX-License-Identifier: Apache-2.0 */
/* policy/hidden.c - files that are hidden only while they hold a secret */

#include "policy/hidden.h"

#include <string.h>

static bool holds(const char *text, size_t n, const char *part, size_t len)
{
	return memmem(text, n, part, len) != NULL;
}

/* A token may also stand alone: "https://TOKEN@host" */
static bool holds_password_url(const char *text, size_t n)
{
	const char *end = text + n;
	const char *at = text;

	while ((at = memmem(at, (size_t)(end - at), "://", 3))) {
		at += 3;
		for (const char *p = at; p < end; p++) {
			if (*p == '@' && p > at)
				return true;
			if (strchr("/ \t\r\n\"'", *p))
				break;
		}
	}
	return false;
}

bool hidden_holds_secret(const char *markers, const char *text, size_t n)
{
	while (*markers) {
		const size_t len = strcspn(markers, "|");

		if (len == 4 && !memcmp(markers, "@url", 4)) {
			if (holds_password_url(text, n))
				return true;
		} else if (holds(text, n, markers, len)) {
			return true;
		}
		markers += len;
		markers += *markers == '|';
	}
	return false;
}
