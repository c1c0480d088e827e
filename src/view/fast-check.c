/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/fast-check.c - paths that may be written, decided by their text alone
 *
 * Theory of operation: asked about every file that a command makes, so it must
 * be quick, and may be coarse the safe way: whatever is anywhere near a rule is
 * not plain. Rules are sorted by path, so those below a writable root are one
 * stretch of the list; in most projects it is short.
 */


#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/protected-names.h"
#include "view/view.h"

/* The rules below a root: from @lo up to @hi */
struct span {
	size_t lo, hi;
};

/**
 * struct root - A writable place
 * @len:	Of @path
 * @private:	The sandbox's own: names mean nothing there
 * @spans:	One for each view
 */
struct root {
	const char *path;
	size_t len;
	bool private;
	struct span spans[2];
};

/**
 * struct fast_check - The roots
 * @views:	The newest, and the first if that is another one
 */
struct fast_check {
	const struct view *views[2];
	size_t nviews;
	struct root *v;
	size_t len, cap;
};

/* True if a rule in @span begins with the @n bytes of @path and then @next */
static bool has(const struct view *view, struct span span, const char *path,
		size_t n, char next)
{
	const size_t at = view_find(view, span.lo, span.hi, path, n, next);

	return at < span.hi && !strncmp(view->rules.v[at].path, path, n) &&
	       view->rules.v[at].path[n] == next;
}

static void add_root(struct fast_check *p, const char *path, bool private)
{
	struct root *root = vec_push(p);

	*root = (struct root){ path, strlen(path), private, { { 0 } } };
	if (root->len == 1)
		root->len = 0;		/* "/": what follows has the slash */
	for (size_t i = 0; i < p->nviews; i++) {
		const struct view *v = p->views[i];

		root->spans[i].lo = view_find(v, 0, v->rules.len, path, root->len, '/');
		root->spans[i].hi = view_find(v, 0, v->rules.len, path, root->len,
					      '/' + 1);
	}
}

static bool may_write(const struct fast_check *p, const char *path)
{
	for (size_t i = 0; i < p->nviews; i++) {
		if (!view_verdict(p->views[i], VIEW_WRITE, path).allowed)
			return false;
	}
	return true;
}

static bool is_own_tmp(const struct fast_check *p)
{
	for (size_t i = 0; i < p->nviews; i++) {
		if (view_place(p->views[i], "/tmp") != VIEW_TMP)
			return false;
	}
	return may_write(p, "/tmp");
}

struct fast_check *fast_check_new(const struct view *view, const struct view *initial)
{
	struct fast_check *p = mem_zalloc(sizeof(*p));

	p->views[p->nviews++] = view;
	if (initial != view)
		p->views[p->nviews++] = initial;
	if (is_own_tmp(p))
		add_root(p, "/tmp", true);
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE && r->mode &&
		    may_write(p, r->path) &&
		    (initial == view || !view_is_unmade(initial, r->path)))
			add_root(p, r->path, false);
	}
	return p;
}

void fast_check_free(struct fast_check *p)
{
	if (!p)
		return;
	free(p->v);
	free(p);
}

/* The innermost root that @path is below, or NULL */
static const struct root *root_of(const struct fast_check *p, const char *path)
{
	const struct root *best = NULL;

	for (size_t i = 0; i < p->len; i++) {
		const struct root *r = &p->v[i];

		if ((!best || r->len > best->len) &&
		    !strncmp(r->path, path, r->len) && path[r->len] == '/' &&
		    path[r->len + 1])
			best = r;
	}
	return best;
}

/* True if a rule of @view stands at @path, between it and @root, or below it */
static bool is_near_rule(const struct view *view, struct span span,
			 const struct root *root, const char *path)
{
	const char *end = path + root->len;

	if (span.lo == span.hi)
		return false;
	do {
		end = strchrnul(end + 1, '/');
		if (has(view, span, path, (size_t)(end - path), 0))
			return true;
	} while (*end);
	return has(view, span, path, (size_t)(end - path), '/');
}

/* True if a pattern matches @path, or a directory between it and @root */
static bool is_pattern(const struct view *view, const struct root *root,
		       const char *path)
{
	char prefix[PATH_MAX];
	size_t at = root->len;

	if (strlen(path) >= sizeof(prefix))
		return true;
	do {
		at = (size_t)(strchrnul(path + at + 1, '/') - path);
		memcpy(prefix, path, at);
		prefix[at] = '\0';
		for (size_t i = 0; i < view->globs.len; i++) {
			if (glob_match(view->globs.v[i].glob, prefix))
				return true;
		}
	} while (path[at]);
	return false;
}

static bool has_protected_name(const struct fast_check *p, const struct root *root,
			       const char *path)
{
	const struct policy *policy = p->views[0]->policy;
	const char *below = path + root->len;

	if (protected_is_head(path) || protected_is_repo_name(below) ||
	    !strcmp(path_base(path), PROTECTED_MODULES_LOCK) ||
	    (protected_may_match(below) &&
	     (protected_match(policy, below) || protected_leads(policy, below) ||
	      protected_noted(policy, below))))
		return true;
	for (const char *in = protected_in_git(path); in;
	     in = protected_in_git(in - 1)) {
		const size_t n = strlen(in), suffix = strlen(".lock");
		auto_free char *locked = n > suffix && !strcmp(in + n - suffix, ".lock") ?
					 mem_strndup(in, n - suffix) : NULL;

		if (protected_match_repo(policy, in) || protected_leads_repo(policy, in) ||
		    (locked && protected_match_repo(policy, locked)))
			return true;
	}
	return false;
}

bool fast_check_covers(const struct fast_check *p, const char *path)
{
	const struct root *root = root_of(p, path);

	if (!root)
		return false;
	for (size_t i = 0; i < p->nviews; i++) {
		if (is_near_rule(p->views[i], root->spans[i], root, path) ||
		    (p->views[i]->globs.len &&
		     is_pattern(p->views[i], root, path)))
			return false;
	}
	return root->private || !has_protected_name(p, root, path);
}
