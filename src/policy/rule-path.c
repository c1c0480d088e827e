/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/rule-path.c - the paths of Read and Edit rules
 *
 * Theory of operation: a specifier is where it starts ("//", "/", "~/", or the
 * start directory) and a gitignore pattern from there. A rule is about a thing
 * and all below it, so all in a directory is the directory: a final slash and
 * final "*" and "**" components fall away. "." and ".." are resolved first; ".."
 * may lead above the start, but not out of a wildcard.
 *
 * A rule that can never match, or is negated ("!x"), is an error: as a denial it would
 * protect nothing, without a message.
 */

#include "policy/rule-path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/gitignore.h"
#include "policy/glob.h"
#include "policy/pathrule.h"

/**
 * struct specifier - A parsed specifier
 * @dir:	Where the pattern starts
 * @pattern:	Clean: no empty component, no "." or "..", no slash around it
 * @fixed:	It cannot be somewhere below @dir
 * @whole:	It ended in "/" or in stars: a directory is meant
 */
struct specifier {
	char *dir;
	struct buf pattern;
	bool fixed, whole;
};

static void specifier_done(struct specifier *spec)
{
	free(spec->dir);
	buf_done(&spec->pattern);
}

static const char *skip_slashes(const char *s)
{
	return s + strspn(s, "/");
}

/* Find the directory that @text starts from; returns the rest of it */
static const char *find_dir(struct specifier *spec, const char *text,
			    const struct rule_bases *bases, struct err *err)
{
	const char *dir = bases->cwd;

	if (!strncmp(text, "//", 2)) {
		dir = "/";
	} else if (*text == '/') {
		dir = bases->root;
	} else if (*text == '~') {
		dir = bases->home;
		if (text[1] && text[1] != '/') {
			fail(err, -EINVAL, "'%s' names another user's home, "
			     "which is not looked up; write //home/NAME, or "
			     "\\~ for a file's name", text);
			return NULL;
		}
		text++;
		if (!dir) {
			fail(err, -EINVAL, "'~%s' needs a home directory, and "
			     "$HOME is not set", text);
			return NULL;
		}
	} else {
		spec->fixed = !strncmp(text, "./", 2);
		spec->dir = mem_strdup(dir);
		return text;
	}
	spec->fixed = true;
	spec->dir = mem_strdup(dir);
	return skip_slashes(text);
}

/* Go up from what @spec has so far. False if that is a wildcard. */
static bool go_up(struct specifier *spec)
{
	struct buf *b = &spec->pattern;
	const char *slash, *last;

	if (!b->len) {
		char *up = path_parent(spec->dir);

		free(spec->dir);
		spec->dir = up;
		spec->fixed = true;
		return true;
	}
	slash = strrchr(b->p, '/');
	last = slash ? slash + 1 : b->p;
	if (strpbrk(last, "*?[\\"))
		return false;
	b->len = slash ? (size_t)(slash - b->p) : 0;
	b->p[b->len] = '\0';
	return true;
}

static int add_components(struct specifier *spec, const char *s, struct err *err)
{
	struct buf *b = &spec->pattern;

	for (s = skip_slashes(s); *s; s = skip_slashes(s)) {
		const size_t n = strcspn(s, "/");

		spec->whole = s[n] == '/';
		if (n == 2 && !memcmp(s, "..", 2)) {
			if (!go_up(spec))
				return fail(err, -EINVAL, "'..' behind a "
					    "pattern; write where it leads");
		} else if (n != 1 || *s != '.') {
			if (b->len)
				buf_addc(b, '/');
			buf_add(b, s, n);
		}
		s += n;
	}
	return 0;
}

/* All in a directory is the directory. "src" and one star has a slash in it,
 * so that it cannot be elsewhere; with two stars it can (is_here()).
 */
static void drop_final_stars(struct specifier *spec)
{
	struct buf *b = &spec->pattern;

	for (;;) {
		const char *slash = b->len ? strrchr(b->p, '/') : NULL;
		const char *last = slash ? slash + 1 : buf_str(b);

		if (strcmp(last, "*") != 0 && strcmp(last, "**") != 0)
			return;
		spec->fixed = spec->fixed || (slash && !last[1]);
		b->len = slash ? (size_t)(slash - b->p) : 0;
		b->p[b->len] = '\0';
		spec->whole = true;
	}
}

/* A bare name matches at any depth, but a directory in an allow rule only here */
static bool is_here(const struct specifier *spec, enum rule_action action)
{
	return spec->fixed || (action == ACTION_ALLOW && spec->whole);
}

int rule_path_init(struct path_rule *ret, const struct rule *rule,
		   const struct rule_bases *bases, struct err *err)
{
	__attribute__((cleanup(specifier_done))) struct specifier spec = { 0 };
	const char *doubt = path_rule_doubt(rule->content, true);
	struct glob *glob;
	auto_free char *text = NULL;
	const char *rest;
	int r;

	if (doubt && *rule->content != '~' && rule->action == ACTION_DENY)
		return fail(err, -EINVAL, "'%s': %s", rule->content, doubt);
	rest = find_dir(&spec, rule->content, bases, err);
	if (!rest)
		return -EINVAL;
	r = add_components(&spec, rest, err);
	if (r < 0)
		return r;
	drop_final_stars(&spec);
	if (!spec.pattern.len) {
		ret->path = take_ptr(spec.dir);
		ret->text = mem_strdup(ret->path);
		return 0;
	}
	text = mem_printf("%s%s", is_here(&spec, rule->action) ? "/" : "",
			  spec.pattern.p);
	glob = gitignore_glob(spec.dir, text, err);
	if (!glob)
		return -EINVAL;
	ret->path = pattern_literal(glob);
	if (ret->path) {
		ret->text = mem_strdup(ret->path);
		glob_free(glob);
	} else {
		ret->path = mem_strdup(glob_prefix(glob));
		ret->text = mem_strdup(rule->content);
		ret->glob = glob;
	}
	return 0;
}
