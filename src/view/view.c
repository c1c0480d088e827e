/* SPDX-License-Identifier: Apache-2.0 */
/* view/view.c - the rules and notes of a view; view-build.c fills it */

#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/pathrule.h"
#include "view/realpath.h"

struct view_rule *view_take_seen(struct view *view, enum path_list list,
				 char *path, const struct path_rule *rule,
				 const struct stat *st)
{
	struct view_rule *r = vec_push(&view->rules);

	r->path = path;
	r->list = list;
	r->rule = rule;
	r->mode = st->st_mode;
	r->dev = st->st_dev;
	r->ino = st->st_ino;
	/* After a run a planted file may be a second name of the user's own */
	if (path_list_denies(list) && S_ISREG(st->st_mode) && st->st_nlink > 1 &&
	    !view->after)
		*vec_push(&view->linked) = (struct view_linked){
			st->st_dev, st->st_ino, list, rule,
		};
	return r;
}

struct view_rule *view_add_seen(struct view *view, enum path_list list,
				const char *path, const struct path_rule *rule,
				const struct stat *st)
{
	return view_take_seen(view, list, mem_strdup(path), rule, st);
}

struct view_rule *view_add(struct view *view, enum path_list list, const char *path,
			   const struct path_rule *rule, bool found)
{
	struct view_rule *r;
	struct stat st;

	if (!view_sees(view, AT_FDCWD, path, &st))
		st = (struct stat){ 0 };
	r = view_add_seen(view, list, path, rule, &st);
	r->found = found;
	return r;
}

void view_add_target(struct view *view, enum path_list list, const char *path,
		     const struct path_rule *rule)
{
	struct realpath *resolver = realpath_new();
	struct stat st;
	auto_free char *real = realpath_follow(resolver, path, &st);
	auto_free char *closed = st.st_mode ? NULL :
				 realpath_closed(resolver, real);

	view_missed(view, realpath_error(resolver));
	realpath_free(resolver);
	if (closed)
		view_add(view, list, closed, rule, false)->closed = true;
	else if (!path_is_within(real, path))
		view_add(view, list, real, rule, true)->target = true;
}

void view_drop(struct view *view, size_t n)
{
	while (view->rules.len > n)
		free(view->rules.v[--view->rules.len].path);
}

const struct path_rule *view_own_rule(struct view *view, const char *path,
				      const char *name, const char *reason)
{
	struct path_rule *rule = mem_zalloc(sizeof(*rule));

	rule->text = mem_strdup(name);
	rule->path = mem_strdup(path);
	rule->strength = RULE_ALWAYS;
	rule->origin.key = rule->text;
	rule->origin.reason = reason;
	*vec_push(&view->owned) = rule;
	return rule;
}

enum { INSERTED_MAX = 64 };	/* More new rules are sorted with the others */

static int compare(const void *a, const void *b)
{
	const struct view_rule *x = a, *y = b;
	const int c = strcmp(x->path, y->path);

	return c ? c : (int)x->list - (int)y->list;
}

void view_sort(struct view *view)
{
	const struct view_rules *r = &view->rules;
	size_t i = 1;

	while (i < r->len && compare(&r->v[i - 1], &r->v[i]) <= 0)
		i++;
	if (r->len - i > INSERTED_MAX && i < r->len) {
		qsort(r->v, r->len, sizeof(*r->v), compare);
		return;
	}
	for (; i < r->len; i++) {	/* Behind those that are sorted */
		const struct view_rule rule = r->v[i];
		size_t lo = 0, hi = i;

		while (lo < hi) {
			const size_t mid = lo + (hi - lo) / 2;

			if (compare(&r->v[mid], &rule) <= 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		memmove(&r->v[lo + 1], &r->v[lo], (i - lo) * sizeof(rule));
		r->v[lo] = rule;
	}
}

size_t view_find(const struct view *view, size_t lo, size_t hi, const char *path,
		 size_t n, char next)
{
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const char *other = view->rules.v[mid].path;
		const int c = strncmp(other, path, n);

		if (c < 0 || (!c && (unsigned char)other[n] < (unsigned char)next))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void view_note(struct view *view, char *text)
{
	vec_push(&view->notes)->text = text;
}

void view_protect(struct view *view, const char *path, const struct stat *st,
		  const char *name, const char *reason)
{
	const struct path_rule *rule = view_own_rule(view, path, name, reason);

	view_add_seen(view, PATH_DENY_WRITE, path, rule, st)->found = true;
	if (S_ISLNK(st->st_mode))
		view_add_target(view, PATH_DENY_WRITE, path, rule);
}

void view_close_dir(struct view *view, const char *closed)
{
	static const char reason[] = "it cannot be searched (chmod u+rx)";

	view_add(view, PATH_DENY_WRITE, closed,
		 view_own_rule(view, closed, path_base(closed), reason), false)
		->closed = true;
}

void view_missed(struct view *view, int error)
{
	if (err_is_shortage(error))
		view->missed = error;
}

int view_check(const struct view *view, struct err *err)
{
	const int error = view->missed;

	return !error ? 0 :
	       fail(err, -error, "not all that is to be protected can be looked at: %s%s; try again",
		    strerror(error), error == EMFILE ? " (ulimit -n)" : "");
}

bool view_sees(struct view *view, int dir, const char *name, struct stat *st)
{
	const bool seen = fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;

	if (!seen)
		view_missed(view, errno);
	return seen;
}

bool view_is_writable(const struct view *view, const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE &&
		    path_is_below(view->rules.v[i].path, path))
			return true;
	}
	return false;
}

void view_add_link(struct view *view, const char *path)
{
	char *target = fs_link("%s", path);

	if (target)
		*vec_push(&view->links) = (struct view_link){
			.path = mem_strdup(path), .target = target,
		};
}

void view_free(struct view *view)
{
	if (!view)
		return;
	view_drop(view, 0);
	for (size_t i = 0; i < view->notes.len; i++)
		free(view->notes.v[i].text);
	for (size_t i = 0; i < view->links.len; i++) {
		free(view->links.v[i].path);
		free(view->links.v[i].target);
	}
	free(view->links.v);
	for (size_t i = 0; i < view->owned.len; i++) {
		free(view->owned.v[i]->text);
		free(view->owned.v[i]->path);
		free(view->owned.v[i]);
	}
	free(view->owned.v);
	strings_done(&view->tops);
	free(view->linked.v);
	for (size_t i = 0; i < view->repos.len; i++) {
		free(view->repos.v[i].path);
		free(view->repos.v[i].todo);
	}
	free(view->repos.v);
	free(view->home);
	free(view->rules.v);
	free(view->notes.v);
	for (size_t i = 0; i < view->globs.len; i++)
		glob_free(view->globs.v[i].own);
	free(view->globs.v);
	policy_unref(view->policy);
	free(view);
}
