/* SPDX-License-Identifier: Apache-2.0 */
/* policy/redact.c - a settings file without its secrets */

#include "policy/redact.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "policy/env-rules.h"

static bool is_shown_key(const char *keys, const char *name, size_t n)
{
	while (n && isspace((unsigned char)name[n - 1]))
		n--;
	return text_matches(keys, name, n);
}

/* @line without users and passwords in addresses; false if it may hold a secret still */
static bool take_line(const char *line, size_t n, struct buf *out)
{
	auto_buf struct buf clean = { 0 };

	for (size_t i = 0; i < n;) {
		const bool address = n - i > 3 && !strncmp(line + i, "://", 3);
		size_t end = i + 3, user = end;

		if (!address) {
			buf_addc(&clean, line[i++]);
			continue;
		}
		for (; end < n && !strchr("/ \t\"'?#", line[end]); end++) {
			if (line[end] == '@')
				user = end + 1;
		}
		buf_adds(&clean, "://");
		buf_add(&clean, line + user, end - user);
		i = end;
	}
	/* A token may be behind the question mark */
	if (memchr(line, '?', n) || memchr(line, '\0', n) ||
	    env_is_secret_value(buf_str(&clean)))
		return false;
	buf_addf(out, "%s\n", buf_str(&clean));
	return true;
}

/* A line that begins with a blank, and is no setting, continues the one before */
bool redact_settings(const char *keys, const char *text, size_t n,
		     struct buf *out)
{
	const char *end = text + n;
	bool listed = false, found = false;

	for (const char *line = text, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *p = line, *equals;
		size_t len;

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		while (p < stop && isspace((unsigned char)*p))
			p++;
		len = (size_t)(stop - p);
		equals = memchr(p, '=', len);
		if (!len || *p == '#' || *p == ';')
			continue;
		if (*p == '[') {
			listed = false;
			(void)take_line(p, len, out);
			continue;
		}
		if (equals)
			listed = is_shown_key(keys, p, (size_t)(equals - p));
		else if (p == line)
			listed = false;
		if (listed)
			found |= take_line(line, (size_t)(stop - line), out);
	}
	return found;
}
