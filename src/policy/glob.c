/* SPDX-License-Identifier: Apache-2.0 */
/* policy/glob.c - the grammar of patterns in sandbox.filesystem and srt files
 *
 * A run of stars is read from its end: the last two are "**" (with a slash
 * behind them, any directories or none), what stands before is "*" or "**".
 */

#include "policy/glob.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "policy/pattern.h"

enum { GLOB_SET_MAX = 256 };	/* Bytes between "[" and "]" */

/* One member of a set, or a range. Returns the text behind it; *@last <
 * *@first if the range is backwards.
 */
static const char *read_range(const char *s, uint32_t *first, uint32_t *last)
{
	*first = *last = pattern_char(&s);
	if (s[0] == '-' && s[1] != ']') {
		s++;
		*last = pattern_char(&s);
	}
	return s;
}

/* The "]" that ends the set at @s ("["), or NULL if this is literal text: not
 * closed within its component, empty, or with a range that is backwards. For
 * a set that is too long, some byte that is no "]".
 */
static const char *set_end(const char *s)
{
	const char *end = s + 1;
	uint32_t first, last;

	/* The limit keeps a row of "[" from costing its square */
	for (; *end && *end != '/' && *end != ']'; end++) {
		if (end - s > GLOB_SET_MAX)
			return end;
	}
	if (*end != ']' || end == s + 1)
		return NULL;
	for (s++; s < end;) {
		s = read_range(s, &first, &last);
		if (last < first)
			return NULL;
	}
	return end;
}

static const char *add_set(struct glob *glob, const char *s, const char *end)
{
	uint32_t first, last;

	pattern_add_set(glob, false);
	for (s++; s < end;) {
		s = read_range(s, &first, &last);
		pattern_add_range(glob, first, last);
	}
	return end + 1;
}

static const char *add_stars(struct glob *glob, const char *s)
{
	size_t n = strspn(s, "*");
	const bool dirs = n > 1 && s[n] == '/';

	s += n;
	if (dirs)
		n -= 2;
	if (n)
		pattern_add(glob, n > 1 ? PIECE_ANY : PIECE_STAR);
	if (dirs)
		pattern_add(glob, PIECE_DIRS);
	return dirs ? s + 1 : s;
}

static int compile(struct glob *glob, const char *text, struct err *err)
{
	const char *s = text;

	while (*s) {
		const char *end = *s == '[' ? set_end(s) : NULL;

		if (end && *end != ']') {
			return fail(err, -EINVAL, "column %zu: a set of more "
				    "than %d characters",
				    (size_t)(s - text) + 1, GLOB_SET_MAX);
		} else if (end) {
			s = add_set(glob, s, end);
		} else if (*s == '*') {
			s = add_stars(glob, s);
		} else if (*s == '?') {
			pattern_add(glob, PIECE_ONE);
			s++;
		} else {
			pattern_add_char(glob, pattern_char(&s));
		}
	}
	return 0;
}

struct glob *glob_new(const char *pattern, struct err *err)
{
	struct glob *glob = pattern_new();

	if (strlen(pattern) <= GLOB_PATTERN_MAX &&
	    compile(glob, pattern, err) < 0) {
		glob_free(glob);
		return NULL;
	}
	return pattern_finish(glob, pattern, err);
}

bool glob_is_pattern(const char *text)
{
	for (; *text; text++) {
		if (*text == '*' || *text == '?' ||
		    (*text == '[' && set_end(text)))
			return true;
	}
	return false;
}
