/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/view-build.c - from a policy to a view: follow links, walk, prune
 *
 * Symbolic links: a denial covers the link and what it points to. An allow
 * through a link that the command itself could have planted (it lies in a
 * writable root, in the home or in /tmp) adds nothing: the target is allowed
 * by a rule of its own, or not; links of the system (/var/run) are followed.
 *
 * Pruned are rules for what is in our own stores, which stay hidden, and rules
 * that allow writing in /proc and /sys. A path that may be written and does not
 * exist cannot be mounted. If it lies in a directory of the host's that the
 * command sees, it stays, with mode 0: the observer makes it for the command. In
 * an existing writable directory the rule adds nothing, and in a hidden or private
 * place there is nothing to make.
 *
 * Nothing can be mounted on the root that all mounts stand on: a rule that hides
 * "/" hides what is in it, by name. Only root can add to that.
 */

#include "view/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
#include "policy/glob.h"
#include "policy/never-list.h"
#include "policy/pathrule.h"
#include "view/realpath.h"
#include "view/symlink-guard.h"
#include "view/walk.h"

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

/* True if @rule shows a file of a directory of the sandbox's own (OWN in
 * hidden-paths.def), which is a link of the user's while the file is not: @real is the
 * file of that name in the directory that is hidden
 */
static bool is_in_own_dir(const struct view *view, const struct path_rule *rule,
			  const char *real)
{
	const struct path_rules *hidden = &view->policy->paths[PATH_DENY_READ];
	auto_free char *dir = path_parent(rule->path);
	auto_free char *real_dir = realpath(dir, NULL);
	auto_free char *file = real_dir ? path_join(real_dir, path_base(rule->path)) : NULL;
	size_t i = 0;

	while (i < hidden->len && (hidden->v[i].place != PLACE_PRIVATE || hidden->v[i].glob ||
				   strcmp(hidden->v[i].path, dir) != 0))
		i++;
	return rule->strength == RULE_BASELINE && i < hidden->len && file &&
	       !strcmp(file, real);
}

/* @path, of @rule, goes through a link to @real, which exists: 1 if that may be
 * followed, 0 if it may not, which is noted
 */
static int check_link(struct view *view, enum path_list list,
		      const struct path_rule *rule, const char *path,
		      const char *real, struct err *err)
{
	auto_free char *end = NULL;
	const int r = symlink_guard_follow(view->policy, path, &end);

	/* The path changes meanwhile: what is used must be what was checked */
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
	return !r || is_in_own_dir(view, rule, real);
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
		view_add_seen(view, list, real, rule, st);
	else if (rule->strength != RULE_BASELINE)
		view_note(view, mem_printf("'%s' does not exist, so nothing is allowed there",
				      rule->text));
	return 0;
}

/* A conditional row hides a file only while there is a secret in it */
static bool holds_secret(const char *path, const char *marker)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(AT_FDCWD, path, MARKER_LOOK_MAX, &text, NULL);

	if (r == -ENOENT)
		return false;
	return r < 0 || path_rule_has_marker(marker, buf_str(&text), text.len);
}

/* *@real becomes the view's */
static void add_deny(struct view *view, enum path_list list,
		     const struct path_rule *rule, char **real,
		     const struct stat *st, const char *link,
		     const struct stat *link_st)
{
	const bool two = link && strcmp(link, *real) != 0;

	if (rule->marker && (!st->st_mode || !holds_secret(*real, rule->marker)))
		return;
	/* A link that dangles is still there to be held in place */
	view_take_seen(view, list, take_ptr(*real), rule,
		       link && !two ? link_st : st);
	if (two)
		view_add_seen(view, list, link, rule, link_st);
}

static int add_path(struct view *view, struct realpath *resolver,
		    enum path_list list, const struct path_rule *rule,
		    const char *path, struct err *err)
{
	const bool allow = list == PATH_ALLOW_WRITE || list == PATH_ALLOW_READ;
	struct stat st, link_st;
	auto_free char *link = NULL, *closed = NULL;
	auto_free char *real = realpath_follow_both(resolver, path, &st, &link,
						    &link_st);

	/* The link itself shows nothing; what it leads to has its own rules */
	if (rule->place == PLACE_BIN && link)
		view_add_link(view, link);
	if (allow && !(rule->place == PLACE_BIN && link))
		return add_allow(view, list, rule, path, real, &st, err);
	if (allow)
		return 0;
	closed = st.st_mode ? NULL : realpath_closed(resolver, real);
	if (closed)	/* As in walk.c: the whole of it */
		view_add(view, list, closed, rule, false)->closed = true;
	if (closed && link)
		view_add_seen(view, list, link, rule, &link_st);
	if (!closed)
		add_deny(view, list, rule, &real, &st, link, &link_st);
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
static int add_pattern(struct view *view, struct realpath *resolver,
		       enum path_list list, const struct path_rule *rule,
		       struct glob *own, struct err *err)
{
	const struct glob *glob = own ? own : rule->glob;
	const char *prefix = glob_prefix(glob);
	struct stat st;
	auto_free char *real = realpath_follow(resolver, prefix, &st);
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
static int add_spelled(struct view *view, struct realpath *resolver,
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

static int add_rule(struct view *view, struct realpath *resolver,
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
	view_add_seen(view, PATH_DENY_READ, VAR_TMP, rule, &st);
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
	const struct list_rules *sockets =
		&view->policy->lists[LIST_UNIX_SOCKETS];

	for (size_t i = 0; i < sockets->len; i++) {
		const char *text = sockets->v[i].text;
		auto_free char *real = NULL;
		struct stat st;
		const int r = symlink_guard_follow(view->policy, text, &real);

		if (r > 0)
			view_note(view, mem_printf("'%s' goes through the symbolic link '%s', so nothing is allowed there; name the socket itself",
					      text, real));
		else if (r == 0 && never_list_is_ours(view->policy, real))
			view_note(view, mem_printf("'%s' is cloche's own, so nothing is allowed there",
					      text));
		else if (r < 0 || lstat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
			view_note(view, mem_printf("'%s' is not a socket, so nothing is allowed there",
					      text));
		else
			view_add_seen(view, PATH_ALLOW_READ, real,
				 view_own_rule(view, real, text,
					       "a Unix socket that may be used"),
				 &st);
	}
}

static int add_rules(struct view *view, struct realpath *resolver,
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

/* An editor writes a file under another name first, or leaves the old content under one:
 * that is as secret as the file. What is missing can appear only where the command could
 * read it, beside a hidden file in a writable root; elsewhere Landlock has no rule for it.
 */
static void hide_copies(struct view *view)
{
	static const struct {
		const char *before, *after;
	} names[] = {
		{ "", "~" }, { "", ".swp" }, { ".", ".swp" }, { "#", "#" },
		{ "", ".lock" }, { "", ".tmp" },
	};
	const size_t count = view->rules.len;
	auto_free char *dir = NULL;	/* Of the last one */
	auto_buf struct buf path = { 0 };
	auto_close int fd = -1;
	bool writable = false;

	for (size_t i = 0; i < count; i++) {
		const struct view_rule r = view->rules.v[i];	/* It moves */
		auto_free char *parent = NULL;

		if (r.list != PATH_DENY_READ || !S_ISREG(r.mode) || r.rule->glob ||
		    view->policy->profile == PROFILE_SRT)
			continue;
		parent = path_parent(r.path);
		if (!dir || strcmp(dir, parent) != 0) {
			free(dir);
			dir = take_ptr(parent);
			close_fd(&fd);
			fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
			writable = view_is_writable(view, r.path);
		}
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			const char *base = path_base(r.path);
			const size_t above = (size_t)(base - r.path);
			struct stat st = { 0 };

			path.len = 0;
			buf_add(&path, r.path, above);
			buf_adds(&path, names[k].before);
			buf_adds(&path, base);
			buf_adds(&path, names[k].after);
			if (view_sees(view, fd < 0 ? AT_FDCWD : fd, path.p +
				      (fd < 0 ? 0 : above), &st) ?
			    S_ISREG(st.st_mode) : writable)
				view_add_seen(view, r.list, path.p, r.rule, &st);
		}
	}
	view_sort(view);
}

static bool is_allow(const struct view_rule *r)
{
	return r->list == PATH_ALLOW_READ || r->list == PATH_ALLOW_WRITE;
}

static void drop(struct view_rule *r)
{
	r->list = PATH_LISTS;
}

static void close_store(struct view *view, const char *store)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		struct view_rule *r = &view->rules.v[i];

		if (!is_allow(r) || !r->rule->origin.source ||
		    !path_is_below(store, r->path))
			continue;
		if (r->rule->strength != RULE_BASELINE)
			view_note(view, mem_printf("'%s' is in a directory of cloche's own, which stays hidden",
						   r->rule->text));
		drop(r);
	}
}

/* The kernel's own switches obey root without asking for a capability */
static void close_kernel(struct view *view, const char *place)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		struct view_rule *r = &view->rules.v[i];

		if (r->list != PATH_ALLOW_WRITE ||
		    !path_is_within(place, r->path))
			continue;
		view_note(view, mem_printf("'%s' is in %s, which holds settings of the kernel and no files, so nothing may be written there",
					   r->path, place));
		drop(r);
	}
}

/* What exists and may be written */
struct roots {
	const char **v;
	size_t len, cap;
};

static bool is_in_root(const struct roots *roots, const char *path)
{
	size_t i = 0;

	while (i < roots->len && !path_is_within(roots->v[i], path))
		i++;
	return i < roots->len;
}

/* No link on the way to it is one that a command could have made */
static bool is_straight(const struct view *view, const struct view_rule *r)
{
	auto_free char *end = NULL;

	return !strcmp(r->rule->path, r->path) ||
	       (symlink_guard_follow(view->policy, r->rule->path, &end) == 0 &&
		!strcmp(end, r->path));
}

static bool may_be_made(const struct view *view, const struct view_rule *r)
{
	auto_free char *parent = path_parent(r->path);
	const struct verdict readable = view_verdict(view, VIEW_READ, parent);

	return view->policy->profile != PROFILE_SRT && readable.allowed &&
	       view_place_of(view, parent, &readable) == VIEW_HOST &&
	       is_straight(view, r);
}

static void prune_missing(struct view *view, const struct roots *roots,
			  struct view_rule *r)
{
	if (is_in_root(roots, r->path)) {
		drop(r);
	} else if (may_be_made(view, r)) {
		view_note(view, mem_printf("'%s' does not exist yet",
					   r->rule->text));
		view->notes.v[view->notes.len - 1].unmade = true;
	} else {
		view_note(view, mem_printf("'%s' does not exist, so nothing is allowed there",
					   r->rule->text));
		drop(r);
	}
}

static bool is_written_below(const struct view *view, const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE &&
		    (path_is_within(path, r->path) ||
		     path_is_within(r->path, path)))
			return true;
	}
	return false;
}

/* A terminal opens in $HOME, and a container's command starts in / */
static void note_no_project(struct view *view)
{
	const struct policy *p = view->policy;
	const bool is_home = p->home && !strcmp(p->cwd, p->home);

	if (p->profile != PROFILE_SRT && !policy_has_project(p) &&
	    !policy_flag(p, FLAG_FS_DISABLED, false) &&
	    !is_written_below(view, p->cwd))
		view_note(view, mem_printf("nothing in '%s' is writable, because it %s; start in a project, or use --write DIR",
					   p->cwd, is_home ? "is the home directory" :
					   !strcmp(p->cwd, "/") ? "is the root directory" :
					   "holds the home directory"));
}

static void note_made(struct view *view)
{
	const struct policy *p = view->policy;

	if (p->made_top && strcmp(p->made_top, p->cwd) != 0)
		view_note(view, mem_printf("the repository '%s' was made by a sandboxed command, so only '%s' is writable; start in '%s' once to use it as the project",
					   p->made_top, p->cwd, p->made_top));
}

/* A list of hosts without effect must not be mistaken for a limit */
static void note_hosts(struct view *view)
{
	const struct policy *p = view->policy;
	const size_t n = p->lists[HOST_ALLOW].len + p->lists[HOST_DENY].len;

	if (!n || (p->net != NET_HOST && p->net != NET_JAIL))
		return;
	view_note(view, mem_printf("--net %s does not look at names: %zu rule%s about hosts %s no effect%s",
				   net_mode_name(p->net), n, n == 1 ? "" : "s",
				   n == 1 ? "has" : "have",
				   p->net == NET_JAIL ? "; --net jail,filtered obeys both" : ""));
}

static void prune_rules(struct view *view)
{
	struct view_rules *r = &view->rules;
	struct roots roots = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < r->len; i++) {
		if (view_is_store(&r->v[i]))
			close_store(view, r->v[i].path);
	}
	close_kernel(view, "/proc");
	close_kernel(view, "/sys");
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_ALLOW_WRITE && r->v[i].mode)
			*vec_push(&roots) = r->v[i].path;
	}
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_ALLOW_WRITE && !r->v[i].mode)
			prune_missing(view, &roots, &r->v[i]);
	}
	free(roots.v);
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_LISTS)
			free(r->v[i].path);
		else
			r->v[kept++] = r->v[i];
	}
	r->len = kept;
	note_no_project(view);
	note_made(view);
	note_hosts(view);
}

/* The sandbox's own, the kernel's, or no name */
static bool is_left(const char *name)
{
	return !strcmp(name, "proc") || !strcmp(name, "dev") ||
	       !strcmp(name, "sys") || !strcmp(name, ".") || !strcmp(name, "..");
}

static int hide_root(struct view *view, struct err *err)
{
	const struct verdict root = view_verdict(view, VIEW_READ, "/");
	auto_closedir DIR *dir = root.allowed ? NULL : opendir("/");
	struct strings tops = { 0 };
	struct dirent *entry;
	bool hides_tmp = false;

	if (root.allowed)
		return 0;
	if (!dir)
		return fail_errno(err, "'%s' cannot be hidden",
				  root.rule->text);
	while ((entry = readdir(dir)) != NULL) {
		auto_free char *path = path_join("/", entry->d_name);
		struct stat st;

		/* What a link leads to is in one of the others */
		if (!is_left(entry->d_name) &&
		    !(view->private_tmp && !strcmp(path, "/tmp")) &&
		    view_sees(view, AT_FDCWD, path, &st) &&
		    !S_ISLNK(st.st_mode) &&
		    !view_verdict(view, VIEW_READ, path).allowed)
			*vec_push(&tops) = take_ptr(path);
	}
	if (view->private_tmp)
		hides_tmp = view_verdict(view, VIEW_READ, "/tmp").rule ==
			    root.rule;
	/* Not while they are asked about: they must be sorted for that */
	for (size_t i = 0; i < tops.len; i++)
		view_add(view, PATH_DENY_READ, tops.v[i], root.rule, false);
	strings_done(&tops);
	if (hides_tmp)
		view_add(view, PATH_ALLOW_READ, "/tmp",
			 view_own_rule(view, "/tmp", "/tmp",
				       "the sandbox's own"), false);
	view_sort(view);
	return 0;
}

/* Hidden on the host, and a directory of the sandbox's own: there is one row of that
 * kind. Profile home has many, which view_place() looks for. Where the host has none,
 * there is none inside either, as nothing can be mounted: what makes it is refused.
 */
static void find_own_dir(struct view *view)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_DENY_READ && r->rule->place == PLACE_PRIVATE && r->mode &&
		    strcmp(r->path, VAR_TMP) != 0)
			view->own_dir = r->path;
	}
}

int view_build(struct policy *policy, struct view **ret, struct err *err)
{
	return view_build_how(policy, &(struct view_how){ 0 }, ret, err);
}

int view_build_how(struct policy *policy, const struct view_how *how,
		   struct view **ret, struct err *err)
{
	auto_view struct view *view = mem_zalloc(sizeof(*view));
	struct realpath *resolver = realpath_new();
	struct stat st;
	int r;

	view->policy = policy_ref(policy);
	view->cache = how->cache;
	view->after = how->after;
	view->deep = how->since;
	view->since = how->since ? *how->since : 0;
	if (policy->home)
		view->home = realpath_follow(resolver, policy->home, &st);
	r = add_rules(view, resolver, err);
	show_sockets(view);
	view_missed(view, realpath_error(resolver));
	realpath_free(resolver);
	if (r < 0)
		return r;
	view->private_tmp = wants_private_tmp(view);
	make_var_tmp(view);
	show_home(view);
	view_sort(view);
	hide_copies(view);
	if (!how->unwalked)
		r = walk_roots(view, err);
	/* Aliases are of what is hidden, and a view after a run shows what was planted */
	if (r == 0 && !how->unwalked && !how->after)
		r = mount_alias_hide(view, err);
	if (r < 0)
		return r;
	view_sort(view);
	prune_rules(view);
	r = hide_root(view, err);
	find_own_dir(view);
	if (r == 0)
		r = view_check(view, err);
	if (r == 0)
		*ret = take_ptr(view);
	return r;
}
