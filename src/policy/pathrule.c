/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/pathrule.c - the grammar of sandbox.filesystem.* entries
 *
 * Theory of operation: only what the user wrote can be a pattern. The directory
 * that it is relative to is plain text, even if it is called "a[1]": its
 * special characters go into the pattern as sets of one.
 */

#include "policy/pathrule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"

/* Drop a final "/" and then "/ **", as often as they come */
static char *without_tail(const char *text)
{
	size_t n = strlen(text);

	for (;;) {
		if (n > 1 && text[n - 1] == '/')
			n--;
		else if (n >= 3 && !memcmp(text + n - 3, "/**", 3))
			n = n == 3 ? 1 : n - 3;
		else
			return mem_strndup(text, n);
	}
}

static char *escaped(const char *text)
{
	struct buf b = { 0 };

	for (; *text; text++) {
		if (strchr("*?[", *text))
			buf_addf(&b, "[%c]", *text);
		else
			buf_addc(&b, *text);
	}
	return buf_take(&b);
}

/* ".." after a pattern would have to guess what the pattern matched */
static bool climbs_out_of_pattern(const char *pattern)
{
	const char *p = pattern + strcspn(pattern, "*?[");

	while ((p = strchr(p, '/'))) {
		p += strspn(p, "/");
		if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

static int add_pattern(const char *base, const char *rest,
		       struct path_rule *ret, struct err *err)
{
	auto_free char *plain_base = escaped(base);
	auto_free char *pattern = path_resolve(plain_base, rest);
	auto_free char *head = mem_strndup(rest, strcspn(rest, "*?["));
	char *slash = strrchr(head, '/');
	struct glob *glob;

	if (climbs_out_of_pattern(rest))
		return fail(err, -EINVAL,
			    "'..' after a pattern; write where it leads");
	glob = glob_new(pattern, err);
	if (!glob)
		return -EINVAL;

	if (slash)
		slash[1] = '\0';
	else
		*head = '\0';
	ret->glob = glob;
	ret->path = path_resolve(base, head);
	ret->literal = path_resolve(base, rest);
	return 0;
}

struct glob *path_rule_below(const char *dir, const char *rest)
{
	auto_free char *plain = escaped(dir);
	auto_free char *pattern = mem_printf("%s%s", plain, rest);

	return glob_is_pattern(rest) ? glob_new(pattern, NULL) : NULL;
}

/* "{a,b}" in one component, at @s ("{") */
static bool is_choice(const char *s)
{
	const size_t n = strcspn(s, "/}");

	return s[n] == '}' && memchr(s, ',', n);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

const char *path_rule_doubt(const char *text, bool escapes)
{
	if (*text == '$' && (is_letter(text[1]) || text[1] == '{'))
		return "variables are not looked up; write ~/... or the whole path, or ./$... for a file of that name";
	if (*text == '~' && is_letter(text[1]))
		return "another user's home is not looked up; write the whole path, or ./~... for a file of that name";
	for (const char *s = text; *s; s++) {
		if (escapes && *s == '\\' && s[1])
			s++;
		else if (*s == '[' && s[1] && s[2] == ']')
			s += 2;		/* That very character */
		else if (*s == '{' && is_choice(s))
			return escapes ?
			       "{a,b} is not expanded; write a rule for each, or \\{ for a name with braces" :
			       "{a,b} is not expanded; write an entry for each, or [{] for a name with braces";
		else if (!escapes && *s == '[' && strchr("!^", s[1]) &&
			 s[1] && strchr(s + 2, ']'))
			return "a set cannot be inverted here, only in Read(...) and Edit(...); write the characters that are meant";
	}
	return NULL;
}

int path_rule_parse(const char *text, const char *base, const char *home,
		    struct path_rule *ret, struct err *err)
{
	auto_free char *trimmed = without_tail(text);
	const char *rest = trimmed;

	if (!*text)
		return fail(err, -EINVAL, "the path is empty");
	if (*rest == '/') {
		base = "/";
	} else if (!strcmp(rest, "~") || !strncmp(rest, "~/", 2)) {
		if (!home)
			return fail(err, -EINVAL,
				    "'%s' needs a home directory, and $HOME is not set",
				    text);
		base = home;
		rest += strspn(rest + 1, "/") + 1;
	}

	if (!glob_is_pattern(rest))
		ret->path = path_resolve(base, rest);
	else if (add_pattern(base, rest, ret, err) < 0)
		return -EINVAL;
	ret->text = mem_strdup(text);
	return 0;
}

void path_rule_done(struct path_rule *rule)
{
	if (rule->text != rule->path)
		free(rule->text);
	free(rule->path);
	free(rule->literal);
	glob_free(rule->glob);
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

bool path_rule_has_marker(const char *markers, const char *text, size_t n)
{
	while (*markers) {
		const size_t len = strcspn(markers, "|");

		if (len == 4 && !memcmp(markers, "@url", 4)) {
			if (holds_password_url(text, n))
				return true;
		} else if (memmem(text, n, markers, len)) {
			return true;
		}
		markers += len;
		markers += *markers == '|';
	}
	return false;
}
