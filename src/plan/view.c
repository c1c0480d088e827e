/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/view.c - a policy's path rules, looked up on this file system
 *
 * Theory of operation: rules are kept sorted by path, so a verdict is one
 * binary search per ancestor of the path asked about, deepest first; a
 * thousand rules cost what ten cost. Reads: the deepest rule that covers the
 * path decides. Writes: an allow must cover it and no deny may, at any depth.
 *
 * Symbolic links: a denial covers the link and what it points to. An allow
 * through a link that the command itself could have planted (it lies in a
 * writable root, in the home or in /tmp) adds nothing: the target is allowed
 * by a rule of its own, or not; links of the system (/var/run) are followed.
 */

#include "plan/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/resolve.h"
#include "plan/walk.h"
#include "policy/glob.h"
#include "policy/hidden.h"

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
}

void view_add(struct view *view, enum path_list list, const char *path,
	      const struct path_rule *rule, bool found)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		st = (struct stat){ 0 };
	add_seen(view, list, path, rule, &st);
	view->rules.v[view->rules.len - 1].found = found;
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
	if (view->rules.len)
		qsort(view->rules.v, view->rules.len, sizeof(*view->rules.v),
		      compare);
}

static void note(struct view *view, char *text)
{
	vec_push(&view->notes)->text = text;
}

/* Could a confined command have put a link at @path? */
static bool is_plantable(const struct view *view, const char *path)
{
	const struct policy *p = view->policy;

	if (path_is_within("/tmp", path) || path_is_within("/var/tmp", path) ||
	    (p->home && path_is_within(p->home, path)))
		return true;
	for (size_t i = 0; i < p->paths[PATH_ALLOW_WRITE].len; i++) {
		const char *root = p->paths[PATH_ALLOW_WRITE].v[i].path;

		if (path_is_below(root, path))
			return true;
	}
	return false;
}

/* The first component of @path that is a symbolic link, as a path; or NULL */
static char *first_link(const char *path)
{
	const char *p = path;

	while (*p) {
		const size_t n = (size_t)(p - path) + 1 + strcspn(p + 1, "/");
		char *prefix = mem_strndup(path, n);
		struct stat st;

		if (lstat(prefix, &st) == 0 && S_ISLNK(st.st_mode))
			return prefix;
		free(prefix);
		p = path + n;
	}
	return NULL;
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

static int add_allow(struct view *view, enum path_list list,
		     const struct path_rule *rule, const char *real,
		     const struct stat *st, struct err *err)
{
	auto_free char *link = NULL;

	if (strcmp(real, rule->path) != 0) {
		link = first_link(rule->path);
		if (link && is_plantable(view, link)) {
			if (!is_allowed_elsewhere(view, list, real))
				note(view, mem_printf("'%s' goes through the symbolic link '%s' to '%s', which is not allowed itself; allow that path too",
						      rule->text, link, real));
			return 0;
		}
	}
	if (!st->st_mode && rule->must_exist)
		return fail(err, -ENOENT, "%s '%s' does not exist; make it first",
			    rule->origin.source->name, rule->text);
	if (!st->st_mode && rule->strength != RULE_BASELINE)
		note(view, mem_printf("'%s' does not exist, so nothing is allowed there",
				      rule->text));
	if (st->st_mode)
		add_seen(view, list, real, rule, st);
	return 0;
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
	auto_free char *link = NULL;
	auto_free char *real = resolver_follow_both(resolver, path, &st, &link,
						    &link_st);

	if (allow)
		return add_allow(view, list, rule, real, &st, err);
	add_deny(view, list, rule, real, &st, link, &link_st);
	return 0;
}

static int add_rule(struct view *view, struct resolver *resolver,
		    enum path_list list, const struct path_rule *rule,
		    struct err *err)
{
	struct stat st;

	if (!rule->glob)
		return add_path(view, resolver, list, rule, rule->path, err);
	*vec_push(&view->globs) = (struct glob_rule){ rule, list };
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

/* A home below /tmp (a test's, a container's) is still the home */
static void show_home(struct view *view)
{
	const char *home = view->policy->home;

	if (view->private_tmp && home && path_is_below("/tmp", home))
		view_add(view, PATH_ALLOW_READ, home,
			 view_own_rule(view, home, "home",
				       "the home directory is visible"), false);
}

/* A socket that may be used must be there, also in a hidden directory */
static void show_sockets(struct view *view, struct resolver *resolver)
{
	const struct string_rules *sockets =
		&view->policy->lists[LIST_UNIX_SOCKETS];

	for (size_t i = 0; i < sockets->len; i++) {
		const char *text = sockets->v[i].text;
		struct stat st;
		auto_free char *real = resolver_follow(resolver, text, &st);

		if (S_ISSOCK(st.st_mode))
			add_seen(view, PATH_ALLOW_READ, real,
				 view_own_rule(view, real, text,
					       "a Unix socket that may be used"),
				 &st);
		else
			note(view, mem_printf("'%s' is not a socket, so nothing is allowed there",
					      text));
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
	auto_view struct view *view = mem_zalloc(sizeof(*view));
	struct resolver *resolver = resolver_new();
	int r;

	view->policy = policy_ref(policy);
	r = add_rules(view, resolver, err);
	show_sockets(view, resolver);
	resolver_free(resolver);
	if (r < 0)
		return r;
	view->private_tmp = wants_private_tmp(view);
	show_home(view);
	view_sort(view);
	r = walk_roots(view, err);
	if (r < 0)
		return r;
	view_sort(view);
	*ret = take_ptr(view);
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->rules.len; i++)
		free(view->rules.v[i].path);
	for (size_t i = 0; i < view->notes.len; i++)
		free(view->notes.v[i].text);
	for (size_t i = 0; i < view->owned.len; i++) {
		free(view->owned.v[i]->text);
		free(view->owned.v[i]->path);
		free(view->owned.v[i]->origin.key);
		free(view->owned.v[i]);
	}
	free(view->owned.v);
	free(view->rules.v);
	free(view->notes.v);
	free(view->globs.v);
	policy_unref(view->policy);
	free(view);
}

/* First rule at or after the @n bytes of @path, in sorted order */
static size_t lower_bound(const struct view *view, const char *path, size_t n)
{
	size_t lo = 0, hi = view->rules.len;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const char *other = view->rules.v[mid].path;
		const int c = strncmp(other, path, n);

		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * struct found - The rules that stand at one path, one per list
 */
struct found {
	const struct path_rule *by[PATH_LISTS];
	bool is_file;
};

static void keep_stronger(struct found *f, enum path_list list,
			  const struct path_rule *rule)
{
	if (!f->by[list] || rule->strength > f->by[list]->strength)
		f->by[list] = rule;
}

/* All rules whose path, or whose glob, is exactly the first @n bytes */
static struct found rules_at(const struct view *view, const char *path,
			     size_t n)
{
	struct found f = { 0 };

	for (size_t i = lower_bound(view, path, n); i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (strncmp(r->path, path, n) != 0 || r->path[n])
			break;
		keep_stronger(&f, r->list, r->rule);
		if (r->mode && !S_ISDIR(r->mode))
			f.is_file = true;
	}
	if (view->globs.len) {
		auto_free char *prefix = mem_strndup(path, n);

		for (size_t i = 0; i < view->globs.len; i++) {
			const struct glob_rule *g = &view->globs.v[i];

			if (glob_match(g->rule->glob, prefix))
				keep_stronger(&f, g->list, g->rule);
		}
	}
	return f;
}

/* Both an allow and a deny stand at one path: which one holds for reading? */
static bool allow_wins(const struct view *view, const struct found *f)
{
	const struct path_rule *deny = f->by[PATH_DENY_READ];

	if (deny->strength == RULE_ALWAYS)
		return false;
	if (deny->strength == RULE_BASELINE)
		return true;
	/* A denied file is lifted by naming that file; srt lets allow win */
	return f->is_file || view->policy->profile == PROFILE_SRT;
}

/* The length of the parent of the first @n bytes of @path; 0 above "/" */
static size_t shorten(const char *path, size_t n)
{
	if (n <= 1)
		return 0;
	while (n > 1 && path[n - 1] != '/')
		n--;
	return n > 1 ? n - 1 : 1;
}

static struct verdict read_verdict(const struct view *view, const char *path)
{
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		const struct found f = rules_at(view, path, n);
		const struct path_rule *deny = f.by[PATH_DENY_READ];
		const struct path_rule *allow = f.by[PATH_ALLOW_READ];

		/* Writing somewhere means reading there, but does not lift
		 * what somebody denied there (in srt it does)
		 */
		if (!allow && (!deny || deny->strength == RULE_BASELINE ||
			       view->policy->profile == PROFILE_SRT))
			allow = f.by[PATH_ALLOW_WRITE];
		if (deny && (!allow || !allow_wins(view, &f)))
			return (struct verdict){ false, deny,
						 "hidden by a rule" };
		if (allow)
			return (struct verdict){ true, allow,
						 "allowed by a rule" };
	}
	return (struct verdict){ true, NULL, "readable by default" };
}

/* In a private /tmp, and not shown from the host's by a rule below it */
static bool is_private(const struct view *view, const char *path,
		       const struct verdict *readable)
{
	return view->private_tmp && path_is_within("/tmp", path) &&
	       !(readable->rule && path_is_below("/tmp", readable->rule->path));
}

bool view_is_private(const struct view *view, const char *path)
{
	const struct verdict readable = read_verdict(view, path);

	return readable.allowed && is_private(view, path, &readable);
}

static struct verdict write_verdict(const struct view *view, const char *path)
{
	const struct path_rule *allow = NULL;
	const struct verdict readable = read_verdict(view, path);
	bool reopened = false;

	if (!readable.allowed)
		return readable;
	if (is_private(view, path, &readable))
		return (struct verdict){ true, NULL,
					 "the sandbox's own /tmp" };
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		const struct found f = rules_at(view, path, n);

		if (f.by[PATH_DENY_WRITE])
			return (struct verdict){ false, f.by[PATH_DENY_WRITE],
						 "denied by a rule" };
		if (!allow && !reopened)
			allow = f.by[PATH_ALLOW_WRITE];
		/* In srt what is opened again in a hidden place is read-only */
		if (view->policy->profile == PROFILE_SRT && !allow &&
		    f.by[PATH_DENY_READ])
			reopened = true;
	}
	if (!allow && policy_flag(view->policy, FLAG_FS_DISABLED, false))
		return (struct verdict){ true, NULL,
					 "file system rules are off" };
	if (!allow)
		return (struct verdict){ false, NULL,
					 "outside the writable paths" };
	return (struct verdict){ true, allow, "allowed by a rule" };
}

struct verdict view_verdict(const struct view *view, enum view_op op,
			    const char *path)
{
	return op == VIEW_READ ? read_verdict(view, path)
			       : write_verdict(view, path);
}

const struct path_rule *view_root_of(const struct view *view,
				     const char *path)
{
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		const struct found f = rules_at(view, path, n);

		if (f.by[PATH_ALLOW_WRITE])
			return f.by[PATH_ALLOW_WRITE];
	}
	return NULL;
}
