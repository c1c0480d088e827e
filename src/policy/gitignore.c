/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/gitignore.c - patterns with the meaning that gitignore(5) gives them
 *
 * Theory of operation: a pattern without a slash (but at its end) names things
 * at any depth, so "**" and a slash go before it; any other starts at its
 * directory. What remains is wildmatch, translated piece by piece:
 *
 *   "**" counts as such only as a whole component, or where nothing but plain
 *   text stands before it: git strips the plain text, then looks whether the
 *   stars are first ("ab**" and a slash are "ab", then any directories). This
 *   is not in the manual, but it is what git does, and git is the oracle.
 *   A set may hold classes ([:alpha:]) and escapes, begins with "!" or "^" to
 *   be inverted, and its first member may be "]". A set that is not closed, or
 *   a backslash at the end, makes a pattern that never matches.
 *
 * Where we differ: git matches bytes, we match characters, so "?" is one of
 * those. tests: test-gitignore.c asks git itself.
 */

#include "policy/gitignore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/glob.h"

/* Pairs of first and last member, as git's own ASCII tables have them */
static const struct {
	const char *name, *ranges;
} classes[] = {
	{ "alnum", "09AZaz" },
	{ "alpha", "AZaz" },
	{ "blank", "  \t\t" },
	{ "cntrl", "\1\37\177\177" },
	{ "digit", "09" },
	{ "graph", "!~" },
	{ "lower", "az" },
	{ "print", " ~" },
	{ "punct", "!/:@[`{~" },
	{ "space", "  \t\n\r\r" },
	{ "upper", "AZ" },
	{ "xdigit", "09AFaf" },
};

/* @s is behind "[:". Returns what is behind ":]"; @s if this is no class but
 * a plain "["; NULL if the pattern can't match: not closed, or no such class.
 */
static const char *add_class(struct glob *glob, const char *s)
{
	const size_t n = strcspn(s, "]");

	if (!s[n])
		return NULL;
	if (!n || s[n - 1] != ':')
		return s;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		const char *r = classes[i].ranges;

		if (strlen(classes[i].name) != n - 1 ||
		    strncmp(classes[i].name, s, n - 1) != 0)
			continue;
		for (; *r; r += 2)
			pattern_add_range(glob, (unsigned char)r[0],
					  (unsigned char)r[1]);
		return s + n + 1;
	}
	return NULL;
}

/* The next member, perhaps escaped; *@s is NULL if it is not there */
static uint32_t next_member(const char **s)
{
	if (**s == '\\')
		++*s;
	if (**s)
		return pattern_char(s);
	*s = NULL;
	return 0;
}

/* One member, range or class. @previous is the character that a "-" would
 * start from, or 0: after a range or a class a "-" is itself.
 */
static const char *add_member(struct glob *glob, const char *s,
			      uint32_t *previous)
{
	uint32_t c;

	if (s[0] == '-' && *previous && s[1] && s[1] != ']') {
		s++;
		c = next_member(&s);
		if (s)
			pattern_add_range(glob, *previous, c);
		*previous = 0;
		return s;
	}
	if (s[0] == '[' && s[1] == ':') {
		const char *end = add_class(glob, s + 2);

		if (end != s + 2) {
			*previous = 0;
			return end;
		}
	}
	c = next_member(&s);
	if (s)
		pattern_add_range(glob, c, c);
	*previous = c;
	return s;
}

/* @s is behind the "[". Returns what is behind "]", NULL if it is not closed */
static const char *add_set(struct glob *glob, const char *s)
{
	const bool inverted = *s == '!' || *s == '^';
	uint32_t previous = 0;

	pattern_add_set(glob, inverted);
	s += inverted;
	do {
		if (!*s)
			return NULL;
		s = add_member(glob, s, &previous);
	} while (s && *s != ']');
	return s ? s + 1 : NULL;
}

/* @first: nothing but plain text stands before. @path: slashes count. */
static const char *add_stars(struct glob *glob, const char *s, char before,
			     bool first, bool path)
{
	const size_t n = strspn(s, "*");
	const bool whole = n > 1 && path && (first || before == '/');

	s += n;
	if (whole && *s == '/') {
		pattern_add(glob, PIECE_DIRS);
		return s + 1;
	}
	if (whole && (!*s || (s[0] == '\\' && s[1] == '/')))
		pattern_add(glob, PIECE_ANY);
	else
		pattern_add(glob, PIECE_STAR);
	return s;
}

/* False if the pattern can never match */
static bool compile(struct glob *glob, const char *text, bool path)
{
	const size_t plain = strcspn(text, "*?[\\");
	const char *s = text;

	while (*s) {
		if (*s == '*') {
			s = add_stars(glob, s, s > text ? s[-1] : '\0',
				      s == text + plain, path);
		} else if (*s == '?') {
			pattern_add(glob, PIECE_ONE);
			s++;
		} else if (*s == '[') {
			s = add_set(glob, s + 1);
			if (!s)
				return false;
		} else {
			if (*s == '\\' && !*++s)
				return false;
			pattern_add_char(glob, pattern_char(&s));
		}
	}
	return true;
}

/* Drop blanks at the end, but not one that is escaped */
static void trim(char *s)
{
	char *end = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			end = ++s + 1;
		else if (*s != ' ')
			end = s + 1;
	}
	*end = '\0';
}

/* Write the pieces of @text, which has no "!" and no final slash */
static struct glob *build(const char *dir, const char *text, bool *can)
{
	const bool path = strchr(text, '/') != NULL;
	struct glob *glob = pattern_new();

	if (dir[1])
		pattern_add_text(glob, dir);
	pattern_add_char(glob, PATTERN_SLASH);
	if (!path)
		pattern_add(glob, PIECE_DIRS);
	text += *text == '/';
	*can = *text && compile(glob, text, path);
	return glob;
}

struct glob *gitignore_glob(const char *dir, const char *text, struct err *err)
{
	auto_free char *copy = mem_strdup(text);
	struct glob *glob;
	bool can;
	size_t n;

	trim(copy);
	n = strlen(copy);
	if (*copy == '!') {
		fail(err, -EINVAL, "'%s' is negated, which a single rule cannot be: write \\! for a name that begins with it",
		     text);
		return NULL;
	}
	if (n > GLOB_PATTERN_MAX) {
		fail(err, -EINVAL, "'%.40s...' is too long for a pattern: %d characters are the limit",
		     copy, GLOB_PATTERN_MAX);
		return NULL;
	}
	if (n && copy[n - 1] == '/')
		copy[n - 1] = '\0';
	glob = pattern_finish(build(dir, copy, &can), copy, err);
	if (glob && !can) {
		glob_free(glob);
		fail(err, -ENODATA, "'%s' can never match: a [ is not closed, or a \\ is last",
		     text);
		return NULL;
	}
	return glob;
}
