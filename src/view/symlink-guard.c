/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/symlink-guard.c - symbolic links that a confined command could have made
 *
 * Theory of operation: the path is walked component by component, and each
 * verdict is for the descriptor that was examined: a process that swaps a directory and
 * a link gets the verdict of one of the two, never the target of the link with the
 * verdict of the directory. The directory that a link lies in has been followed by then, so it is
 * compared with where the home and the roots really are, not only with how they
 * are spelled: /home may be a link to /var/home.
 *
 * A command that runs while settings are edited can put a link in the place of a
 * directory, and the directory back: then a rule is for what the link led to. So a denial
 * also covers the path with each link on its way taken as a directory. That is done for
 * every link, also where no command could have swapped it.
 */

#include "view/symlink-guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "view/view.h"

enum { LINKS_MAX = 40 };	/* The kernel's */

/**
 * struct walk - Where we are
 * @real:	Followed so far
 * @rest:	Still to be followed, in @owned or the caller's text
 * @links:	How many were followed
 * @start:	It is the way to a start directory: no policy is known yet
 * @view:	Gets names that @list of @rule is for, too; or NULL. Its first
 *		@sorted rules are in order, those from @own on are of @rule.
 */
struct walk {
	const struct policy *policy;
	char *real, *owned;
	const char *rest;
	unsigned int links;
	bool start;
	struct view *view;
	size_t sorted, own;
	enum path_list list;
	const struct path_rule *rule;
};

/* Is @path in @dir, as that is spelled or where it really is? */
static bool is_in(const char *dir, const char *path)
{
	auto_free char *real = NULL;

	if (!dir)
		return false;
	if (path_is_below(dir, path))
		return true;
	real = realpath(dir, NULL);
	return real && path_is_below(real, path);
}

/* Could it have been made at @path because @rule allows that, and nothing was
 * there? What is made so need not be a directory (view/view-build.c).
 */
static bool is_made(const struct policy *p, const struct path_rule *rule,
		    const char *path)
{
	auto_free char *parent = path_parent(rule->path), *real = NULL;
	auto_free char *at = path_parent(path);

	if (rule->glob || rule->must_exist ||
	    rule->strength == RULE_BASELINE || p->profile == PROFILE_SRT ||
	    strcmp(path_base(rule->path), path_base(path)) != 0)
		return false;
	real = realpath(parent, NULL);
	return real && !strcmp(real, at);
}

/* Could a confined command have put the link @st at @path? */
static bool is_plantable(const struct policy *p, const char *path,
			 const struct stat *st)
{
	const struct path_rules *roots = &p->paths[PATH_ALLOW_WRITE];

	if (is_in("/tmp", path) || is_in("/var/tmp", path) ||
	    is_in(p->home, path))
		return true;
	for (size_t i = 0; i < roots->len; i++) {
		if (is_in(roots->v[i].path, path) ||
		    (st->st_uid == geteuid() && is_made(p, &roots->v[i], path)))
			return true;
	}
	return false;
}

/* The next component of what is left; "" at the end. The caller frees. */
static char *next_component(struct walk *w)
{
	const char *start = w->rest + strspn(w->rest, "/");
	const size_t n = strcspn(start, "/");

	w->rest = start + n;
	return mem_strndup(start, n);
}

/* The link at @path, in the directory where we are */
static int follow(struct walk *w, const char *path)
{
	auto_free char *target = fs_link("%s", path);
	char *left;

	if (!target)
		return -errno;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (target[0] == '/') {
		free(w->real);
		w->real = mem_strdup("/");
	}
	left = mem_printf("%s/%s", target, w->rest);
	free(w->owned);
	w->rest = w->owned = left;
	return 0;
}

/* Of a link the view knows only what it is now */
static bool is_known(const struct walk *w, size_t i, const char *path)
{
	const struct view_rule *r = &w->view->rules.v[i];

	return r->list == w->list && r->rule == w->rule &&
	       !S_ISLNK(r->mode) && !strcmp(r->path, path);
}

/* As if nothing were there yet */
static void add_name(const struct walk *w, const char *path)
{
	const struct view_rules *rules = &w->view->rules;

	for (size_t i = view_find(w->view, 0, w->sorted, path, strlen(path), '\0');
	     i < w->sorted && !strcmp(rules->v[i].path, path); i++) {
		if (is_known(w, i, path))
			return;
	}
	for (size_t i = w->own; i < rules->len; i++) {
		if (is_known(w, i, path))
			return;
	}
	*vec_push(&w->view->rules) = (struct view_rule){
		.path = mem_strdup(path), .list = w->list, .rule = w->rule,
	};
}

/* What is left, were it in the link at @path */
static void add_spelled(const struct walk *w, const char *path)
{
	auto_free char *name = path_resolve(path, w->rest +
					    strspn(w->rest, "/"));

	add_name(w, name);
}

static bool has_name(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);

	return access(path, F_OK) == 0;
}

/* True if a command may have run in @dir, or above it, with write access there. No command
 * may write to the home itself, or above it.
 */
static bool is_in_project(const char *dir)
{
	const char *named = getenv("HOME");
	auto_free char *home = named ? realpath(named, NULL) : NULL;
	auto_free char *at = mem_strdup(dir);
	bool found = false;

	while (!found && at[1] && !(home && path_is_within(at, home))) {
		char *above = path_parent(at);

		found = has_name(at, ".git") || has_name(at, ".cloche.json") ||
			has_name(at, ".claude");
		free(at);
		at = above;
	}
	return found;
}

/* One component: 1 if it is a planted link, 0, or a negative errno */
static int step(struct walk *w, const char *name)
{
	auto_free char *at = strcmp(name, "..") ? path_join(w->real, name)
						: path_parent(w->real);
	struct stat st;
	int r = 0;

	if (lstat(at, &st) == 0 && S_ISLNK(st.st_mode)) {
		if (w->view)
			add_spelled(w, at);
		if (w->start ? !is_in_project(w->real) :
		    w->view || !is_plantable(w->policy, at, &st))
			return follow(w, at);
		r = 1;
	}
	free(w->real);
	w->real = take_ptr(at);
	return r;
}

/* To the end, or to the first planted link; as step() */
static int walk(struct walk *w)
{
	int r = 0;

	while (r == 0) {
		auto_free char *name = next_component(w);

		if (!*name)
			break;
		if (strcmp(name, ".") != 0)
			r = step(w, name);
	}
	free(w->owned);
	return r;
}

int symlink_guard_follow(const struct policy *policy, const char *path, char **ret)
{
	struct walk w = {
		.policy = policy, .real = mem_strdup("/"), .rest = path,
	};
	const int r = walk(&w);

	if (r >= 0)
		*ret = w.real;
	else
		free(w.real);
	return r;
}

char *symlink_guard_start(const char *path)
{
	struct walk w = { .real = mem_strdup("/"), .rest = path, .start = true };

	if (walk(&w) > 0)
		return w.real;
	free(w.real);
	return NULL;
}

/* Also for where it leads now: when the view was made that may have been elsewhere */
static void deny_names(struct view *view, size_t sorted, enum path_list list,
		       const struct path_rule *rule)
{
	struct walk w = {
		.real = mem_strdup("/"), .rest = rule->path, .view = view,
		.sorted = sorted, .own = view->rules.len,
		.list = list, .rule = rule,
	};

	if (walk(&w) == 0)
		add_name(&w, w.real);
	free(w.real);
}

void symlink_guard_deny(struct view *view)
{
	const size_t sorted = view->rules.len;

	view_sort(view);
	for (enum path_list list = 0; list < PATH_LISTS; list++) {
		const struct path_rules *rules = &view->policy->paths[list];

		for (size_t i = 0; path_list_denies(list) && i < rules->len; i++) {
			if (!rules->v[i].glob &&
			    rules->v[i].strength == RULE_USER)
				deny_names(view, sorted, list, &rules->v[i]);
		}
	}
	view_sort(view);
}
