/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/view.c - a policy's path rules, looked up on this file system
 *
 * Symbolic links: a denial covers the link and what it points to. An allow
 * through a link that the command itself could have planted (it lies in a
 * writable root, in the home or in /tmp) adds nothing: the target is allowed
 * by a rule of its own, or not; links of the system (/var/run) are followed.
 */

#include "plan/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/alias.h"
#include "plan/planted.h"
#include "plan/resolve.h"
#include "plan/settle.h"
#include "plan/tops.h"
#include "plan/walk-git.h"
#include "plan/walk.h"
#include "policy/glob.h"
#include "policy/hidden.h"
#include "policy/pathrule.h"

static void add_seen(struct view *view, enum path_list list, const char *path,
		     const struct path_rule *rule, const struct stat *st)
{
	struct view_rule *r = vec_push(&view->rules);

	r->path = mem_strdup(path);
	r->list = list;
	r->rule = rule;
	r->mode = st->st_mode;
	r->dev = st->st_dev;
	r->ino = st->st_ino;
	if (path_list_denies(list) && S_ISREG(st->st_mode) && st->st_nlink > 1)
		*vec_push(&view->linked) = (struct view_linked){
			st->st_dev, st->st_ino, list, rule,
		};
}

void view_add(struct view *view, enum path_list list, const char *path,
	      const struct path_rule *rule, bool found)
{
	struct stat st;

	if (!walk_sees(view, AT_FDCWD, path, &st))
		st = (struct stat){ 0 };
	add_seen(view, list, path, rule, &st);
	view->rules.v[view->rules.len - 1].found = found;
}

void view_add_found(struct view *view, enum path_list list, const char *path,
		    const struct path_rule *rule, const struct stat *st)
{
	add_seen(view, list, path, rule, st);
	view->rules.v[view->rules.len - 1].found = true;
}

void view_add_target(struct view *view, enum path_list list, const char *path,
		     const struct path_rule *rule)
{
	struct resolver *resolver = resolver_new();
	struct stat st;
	auto_free char *real = resolver_follow(resolver, path, &st);
	auto_free char *closed = st.st_mode ? NULL :
				 resolver_closed(resolver, real);

	walk_missed(view, resolver_error(resolver));
	resolver_free(resolver);
	if (closed) {
		view_add_closed(view, list, closed, rule);
	} else if (!path_is_within(real, path)) {
		view_add(view, list, real, rule, true);
		view->rules.v[view->rules.len - 1].target = true;
	}
}

void view_drop(struct view *view, size_t n)
{
	while (view->rules.len > n)
		free(view->rules.v[--view->rules.len].path);
}

void view_add_closed(struct view *view, enum path_list list, const char *path,
		     const struct path_rule *rule)
{
	view_add(view, list, path, rule, false);
	view->rules.v[view->rules.len - 1].closed = true;
}

const struct path_rule *view_own_rule(struct view *view, const char *path,
				      const char *name, const char *reason)
{
	struct path_rule *rule = mem_zalloc(sizeof(*rule));

	rule->text = mem_strdup(name);
	rule->path = mem_strdup(path);
	rule->strength = RULE_ALWAYS;
	rule->origin.key = mem_strdup(name);
	rule->origin.reason = reason;
	*vec_push(&view->owned) = rule;
	return rule;
}

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
	if (i < r->len)		/* Else there is nothing to do */
		qsort(r->v, r->len, sizeof(*r->v), compare);
}

void view_note(struct view *view, char *text)
{
	vec_push(&view->notes)->text = text;
}

static bool is_allowed_elsewhere(const struct view *view, enum path_list list,
				 const char *target)
{
	const struct path_rules *rules = &view->policy->paths[list];

	for (size_t i = 0; i < rules->len; i++) {
		if (!rules->v[i].glob &&
		    path_is_within(rules->v[i].path, target))
			return true;
	}
	return false;
}

/* Of our own rows, those that hold the others */
static bool is_worth_a_note(const struct path_rule *rule)
{
	return rule->strength != RULE_BASELINE || rule->place == PLACE_LAYER;
}

/* @path, of @rule, goes through a link to @real, which exists: 1 if that may be
 * followed, 0 if it may not, which is noted
 */
static int check_link(struct view *view, enum path_list list,
		      const struct path_rule *rule, const char *path,
		      const char *real, struct err *err)
{
	auto_free char *end = NULL;
	const int r = planted_follow(view->policy, path, &end);

	/* Somebody swaps it: what was looked up must be what was checked */
	if (r < 0 || (!r && strcmp(end, real) != 0))
		return fail(err, -ESTALE, "'%s' was replaced while it was looked up; try again",
			    rule->text);
	if (r && rule->must_exist && !is_allowed_elsewhere(view, list, real))
		return fail(err, -ELOOP, "%s '%s' goes through the symbolic link '%s', which a command could have made; name '%s' itself if you mean that",
			    rule->origin.source->name, rule->text, end, real);
	if (r && is_worth_a_note(rule) &&
	    !is_allowed_elsewhere(view, list, real))
		view_note(view, mem_printf("'%s' goes through the symbolic link '%s' to '%s', which is not allowed itself; allow that path too",
				      rule->text, end, real));
	return !r;
}

static int add_allow(struct view *view, enum path_list list,
		     const struct path_rule *rule, const char *path,
		     const char *real, const struct stat *st, struct err *err)
{
	const int r = !st->st_mode || !strcmp(real, path) ? 1 :
		      check_link(view, list, rule, path, real, err);

	if (r <= 0)
		return r;
	if (!st->st_mode && rule->must_exist)
		return fail(err, -ENOENT, "%s '%s' does not exist; make it first",
			    rule->origin.source->name, rule->text);
	/* Whether it may be made is seen when all rules are there */
	if (st->st_mode || (list == PATH_ALLOW_WRITE &&
			    rule->strength != RULE_BASELINE))
		add_seen(view, list, real, rule, st);
	else if (rule->strength != RULE_BASELINE)
		view_note(view, mem_printf("'%s' does not exist, so nothing is allowed there",
				      rule->text));
	return 0;
}

void view_add_link(struct view *view, const char *path)
{
	char target[PATH_MAX];
	const ssize_t n = readlink(path, target, sizeof(target) - 1);
	struct view_link *link;

	if (n <= 0)
		return;
	target[n] = '\0';
	link = vec_push(&view->links);
	link->path = mem_strdup(path);
	link->target = mem_strdup(target);
}

/* A conditional row hides a file only while there is a secret in it */
static bool holds_secret(const char *path, const char *marker)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(AT_FDCWD, path, HIDDEN_LOOK_MAX, &text, NULL);

	if (r == -ENOENT)
		return false;
	return r < 0 || hidden_holds_secret(marker, buf_str(&text), text.len);
}

static void add_deny(struct view *view, enum path_list list,
		     const struct path_rule *rule, const char *real,
		     const struct stat *st, const char *link,
		     const struct stat *link_st)
{
	if (rule->marker && (!st->st_mode || !holds_secret(real, rule->marker)))
		return;
	/* A link that dangles is still there to be held in place */
	add_seen(view, list, real, rule,
		 link && !strcmp(link, real) ? link_st : st);
	if (link && strcmp(link, real) != 0)
		add_seen(view, list, link, rule, link_st);
}

static int add_path(struct view *view, struct resolver *resolver,
		    enum path_list list, const struct path_rule *rule,
		    const char *path, struct err *err)
{
	const bool allow = list == PATH_ALLOW_WRITE || list == PATH_ALLOW_READ;
	struct stat st, link_st;
	auto_free char *link = NULL, *closed = NULL;
	auto_free char *real = resolver_follow_both(resolver, path, &st, &link,
						    &link_st);

	/* The link itself shows nothing; what it leads to has its own rules */
	if (rule->place == PLACE_BIN && link)
		view_add_link(view, link);
	if (allow && !(rule->place == PLACE_BIN && link))
		return add_allow(view, list, rule, path, real, &st, err);
	if (allow)
		return 0;
	closed = st.st_mode ? NULL : resolver_closed(resolver, real);
	if (closed)	/* As in walk.c: the whole of it */
		view_add_closed(view, list, closed, rule);
	if (closed && link)
		add_seen(view, list, link, rule, &link_st);
	if (!closed)
		add_deny(view, list, rule, real, &st, link, &link_st);
	return 0;
}

static void push_pattern(struct view *view, enum path_list list,
			 const struct path_rule *rule, struct glob *own)
{
	*vec_push(&view->globs) = (struct glob_rule){
		.rule = rule, .list = list,
		.glob = own ? own : rule->glob, .own = own,
	};
}

/* A pattern, of the rule or our @own, is for the directory it begins with, and for
 * where that leads
 */
static int add_pattern(struct view *view, struct resolver *resolver,
		       enum path_list list, const struct path_rule *rule,
		       struct glob *own, struct err *err)
{
	const struct glob *glob = own ? own : rule->glob;
	const char *prefix = glob_prefix(glob);
	struct stat st;
	auto_free char *real = resolver_follow(resolver, prefix, &st);
	int r = path_list_denies(list);

	push_pattern(view, list, rule, own);
	if (!strcmp(real, prefix))
		return 0;
	if (!r && st.st_mode)
		r = check_link(view, list, rule, prefix, real, err);
	if (r > 0)
		push_pattern(view, list, rule, glob_move(glob, real));
	return r < 0 ? r : 0;
}

/* Where "app/[id]/x*" is spelled and there is a directory "app/[id]", the rest is
 * for what is in there, too
 */
static int add_spelled(struct view *view, struct resolver *resolver,
		       enum path_list list, const struct path_rule *rule,
		       struct err *err)
{
	const char *at = rule->literal + strlen(glob_prefix(rule->glob));
	int r = 0;

	while (r == 0 && (at = strchr(at + 1, '/')) != NULL) {
		auto_free char *dir = mem_strndup(rule->literal,
						  (size_t)(at - rule->literal));
		struct glob *glob;

		if (!glob_is_pattern(path_base(dir)))
			continue;
		glob = access(dir, F_OK) < 0 ? NULL : path_rule_below(dir, at);
		if (!glob)
			break;
		r = add_pattern(view, resolver, list, rule, glob, err);
	}
	return r;
}

static int add_rule(struct view *view, struct resolver *resolver,
		    enum path_list list, const struct path_rule *rule,
		    struct err *err)
{
	struct stat st;
	int r;

	if (!rule->glob)
		return add_path(view, resolver, list, rule, rule->path, err);
	r = add_pattern(view, resolver, list, rule, NULL, err);
	if (r == 0 && rule->literal && path_list_denies(list))
		r = add_spelled(view, resolver, list, rule, err);
	if (r < 0)
		return r;
	/* A pattern that names an existing path means both */
	if (rule->literal && lstat(rule->literal, &st) == 0)
		return add_path(view, resolver, list, rule, rule->literal,
				err);
	return 0;
}

/* /tmp is private unless a rule gives out the host's, or the profile is srt */
static bool wants_private_tmp(const struct view *view)
{
	const struct policy *p = view->policy;

	if (p->profile == PROFILE_SRT ||
	    policy_flag(p, FLAG_FS_DISABLED, false))
		return false;
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE && path_is_within(r->path, "/tmp"))
			return false;
	}
	return true;
}

/* So is /var/tmp, empty at each start */
static void make_var_tmp(struct view *view)
{
	struct path_rule *rule;
	struct stat st;

	if (!view->private_tmp || lstat(VAR_TMP, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return;
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if ((r->list == PATH_ALLOW_WRITE || r->list == PATH_ALLOW_READ) &&
		    path_is_within(r->path, VAR_TMP))
			return;
	}
	(void)view_own_rule(view, VAR_TMP, VAR_TMP, "the sandbox's own");
	rule = view->owned.v[view->owned.len - 1];
	rule->place = PLACE_PRIVATE;
	add_seen(view, PATH_DENY_READ, VAR_TMP, rule, &st);
	view->private_var_tmp = true;
}

/* A home below /tmp (a test's, a container's) is still the home */
static void show_home(struct view *view)
{
	const char *home = view->home;

	if (view->private_tmp && home &&
	    (path_is_below("/tmp", home) || path_is_below(VAR_TMP, home)) &&
	    view->policy->profile != PROFILE_HOME)
		view_add(view, PATH_ALLOW_READ, home,
			 view_own_rule(view, home, "home",
				       "the home directory is visible"), false);
}

/* A socket that may be used must be there, also in a hidden directory. A link
 * that a command could have made leads to whichever it likes.
 */
static void show_sockets(struct view *view)
{
	const struct string_rules *sockets =
		&view->policy->lists[LIST_UNIX_SOCKETS];

	for (size_t i = 0; i < sockets->len; i++) {
		const char *text = sockets->v[i].text;
		auto_free char *real = NULL;
		struct stat st;
		const int r = planted_follow(view->policy, text, &real);

		if (r > 0)
			view_note(view, mem_printf("'%s' goes through the symbolic link '%s', so nothing is allowed there; name the socket itself",
					      text, real));
		else if (r < 0 || lstat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
			view_note(view, mem_printf("'%s' is not a socket, so nothing is allowed there",
					      text));
		else
			add_seen(view, PATH_ALLOW_READ, real,
				 view_own_rule(view, real, text,
					       "a Unix socket that may be used"),
				 &st);
	}
}

static int add_rules(struct view *view, struct resolver *resolver,
		     struct err *err)
{
	for (enum path_list list = 0; list < PATH_LISTS; list++) {
		const struct path_rules *rules = &view->policy->paths[list];

		for (size_t i = 0; i < rules->len; i++) {
			const int r = add_rule(view, resolver, list,
					       &rules->v[i], err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int view_build(struct policy *policy, struct view **ret, struct err *err)
{
	return view_build_with(policy, NULL, ret, err);
}

static int build(struct policy *policy, struct walk_cache *cache, bool after,
		 const time_t *since, struct view **ret, struct err *err)
{
	auto_view struct view *view = mem_zalloc(sizeof(*view));
	struct resolver *resolver = resolver_new();
	struct stat st;
	int r;

	view->policy = policy_ref(policy);
	view->cache = cache;
	view->after = after;
	view->deep = since;
	view->since = since ? *since : 0;
	if (policy->home)
		view->home = resolver_follow(resolver, policy->home, &st);
	r = add_rules(view, resolver, err);
	show_sockets(view);
	walk_missed(view, resolver_error(resolver));
	resolver_free(resolver);
	if (r < 0)
		return r;
	view->private_tmp = wants_private_tmp(view);
	make_var_tmp(view);
	show_home(view);
	view_sort(view);
	r = walk_roots(view, err);
	if (r == 0)
		r = alias_hide(view, err);
	if (r < 0)
		return r;
	view_sort(view);
	settle(view);
	r = tops_hide(view, err);
	if (r == 0)
		r = walk_check(view, err);
	if (r == 0)
		*ret = take_ptr(view);
	return r;
}

int view_build_with(struct policy *policy, struct walk_cache *cache,
		    struct view **ret, struct err *err)
{
	return build(policy, cache, false, NULL, ret, err);
}

int view_build_after(struct policy *policy, struct walk_cache *cache,
		     const time_t *since, struct view **ret, struct err *err)
{
	return build(policy, cache, true, since, ret, err);
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
		free(view->owned.v[i]->origin.key);
		free(view->owned.v[i]);
	}
	free(view->owned.v);
	for (size_t i = 0; i < view->tops.len; i++)
		free(view->tops.v[i]);
	free(view->tops.v);
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
