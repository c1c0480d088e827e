/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/mounts.c - from verdicts to an ordered list of mounts
 *
 * Theory of operation: only a path that some rule names can differ from its
 * parent. So the rules' paths are visited parents first; each gets the state
 * that the verdicts give it (hidden, readable, writable), and a mount is
 * planned where that differs from the state of the nearest visited ancestor.
 * What is protected inside a writable root is held in place by pins: every
 * directory between the two is mounted onto itself, because a mount point
 * cannot be renamed.
 *
 * A directory that is hidden but shows something inside is a directory of the
 * sandbox's own little file system with mount points in it. So is a
 * private home, which the command may write to; what leads to a point in there
 * is pinned, so that it stays where the rules say it is. A layer is an overlay
 * with two such directories, for what is written ("u") and for the kernel's
 * work ("w"); what is covered in it is a point in the first.
 */

#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/dedup.h"
#include "view/view.h"

enum state {
	STATE_HIDDEN, STATE_READ, STATE_WRITE, STATE_TMP, STATE_PRIVATE,
	STATE_LAYER,
};

/**
 * struct level - A visited path that the next ones may lie below
 * @path:	Not owned
 * @state:	How it is seen
 * @mask:	Skeleton directory, if hidden and shown through
 * @mount:	Index of its mount, for a mask that gains a first point
 */
struct level {
	const char *path;
	enum state state;
	unsigned int mask;
	size_t mount;
};

/**
 * struct walk - The visit of all rules, parents first
 * @v, @len, @cap: The levels that the current path lies below
 * @mounted:	Paths of the first @known mounts
 */
struct walk {
	struct plan *plan;
	const struct view *view;
	struct level *v;
	size_t len, cap;
	struct policy_dedup *mounted;
	size_t known;
};

static int compare_rules(const void *a, const void *b)
{
	const struct view_rule *const *x = a, *const *y = b;

	return path_compare((*x)->path, (*y)->path);
}

/* What kind of world does the command see at @path? */
static enum state state_of(const struct view *view, const char *path,
			   const struct path_rule **rule)
{
	static const enum state states[] = {
		[VIEW_TMP] = STATE_TMP, [VIEW_PRIVATE] = STATE_PRIVATE,
	};
	struct verdict v = view_verdict(view, VIEW_READ, path);
	const enum view_place place = view_place_of(view, path, &v);

	*rule = v.rule;
	if (place == VIEW_TMP || place == VIEW_PRIVATE)
		return states[place];
	if (!v.allowed)
		return STATE_HIDDEN;
	if (place == VIEW_LAYER &&
	    view_verdict(view, VIEW_WRITE, path).allowed)
		return STATE_LAYER;
	v = view_verdict(view, VIEW_WRITE, path);
	if (v.allowed || v.rule)	/* Else the rule that shows it counts */
		*rule = v.rule;
	return v.allowed ? STATE_WRITE : STATE_READ;
}

static struct plan_mount *push_mount(struct walk *w, enum mount_kind kind,
				     const struct view_rule *at,
				     const struct path_rule *rule,
				     const char *reason)
{
	struct plan_mount *m = vec_push(&w->plan->mounts);

	m->kind = kind;
	m->path = mem_strdup(at->path);
	m->is_dir = S_ISDIR(at->mode);
	m->is_link = S_ISLNK(at->mode);
	m->dev = at->dev;
	m->ino = at->ino;
	m->rule = rule;
	m->reason = reason;
	return m;
}

/* A directory between a writable root and what is protected in it; @loose if
 * what will stand there is not what stands there now
 */
static void push_pin(struct walk *w, const char *path, bool loose)
{
	struct view_rule at = { 0 };
	struct stat st;

	if (lstat(path, &st) < 0)
		return;		/* The mount itself will say what is wrong */
	at.path = mem_strdup(path);
	at.mode = st.st_mode;
	at.dev = st.st_dev;
	at.ino = st.st_ino;
	push_mount(w, MOUNT_PIN, &at, NULL,
		   "so that what is protected inside cannot be renamed away")
		->loose = loose;
	free(at.path);
}

static bool is_mounted(struct walk *w, const char *path)
{
	for (; w->known < w->plan->mounts.len; w->known++)
		(void)dedup_add(w->mounted, 0,
				w->plan->mounts.v[w->known].path, w->known);
	return dedup_find(w->mounted, 0, path, NULL);
}

/* Pin every directory strictly between the writable @above and @path */
static void pin_between(struct walk *w, const struct level *above,
			const char *path)
{
	const size_t n = strlen(above->path), start = n == 1 ? 0 : n;
	const bool loose = above->state != STATE_WRITE || w->plan->ephemeral;
	const char *p = path + start;

	while ((p = strchr(p + 1, '/')) != NULL) {
		auto_free char *dir = mem_strndup(path, (size_t)(p - path));

		if (!is_mounted(w, dir))
			push_pin(w, dir, loose);
	}
}

static struct plan_point *add_point(struct walk *w, unsigned int mask,
				    const char *path, bool is_dir)
{
	struct plan_point *point = vec_push(&w->plan->points);

	point->mask = mask;
	point->path = mem_strdup(path);
	point->is_dir = is_dir;
	return point;
}

/* A mount point for @path inside the mask (or private place) of @above */
static void push_point(struct walk *w, struct level *above, const char *path,
		       bool is_dir)
{
	const char *below = path + strlen(above->path) + 1;
	auto_free char *upper = mem_printf("u/%s", below);

	if (above->state == STATE_TMP) {
		above->mask = MASK_TMP;
	} else if (above->mask == MASK_EMPTY) {
		above->mask = w->plan->masks++;
		w->plan->mounts.v[above->mount].mask = above->mask;
	}
	add_point(w, above->mask, above->state == STATE_LAYER ? upper : below,
		 is_dir)->open = above->state == STATE_PRIVATE ||
				 above->state == STATE_LAYER;
	if (above->state == STATE_PRIVATE)
		pin_between(w, above, path);
}

static void push_level(struct walk *w, const char *path, enum state state)
{
	struct level *l = vec_push(w);

	l->path = path;
	l->state = state;
	l->mask = MASK_EMPTY;
	l->mount = w->plan->mounts.len - 1;
}

/* A link cannot be read-only or hidden (what it points to can), but held */
static void visit_link(struct walk *w, const struct view_rule *at)
{
	const struct level *above;
	const struct path_rule *rule;

	while (!path_is_within(w->v[w->len - 1].path, at->path))
		w->len--;
	above = &w->v[w->len - 1];
	if (above->state != STATE_WRITE || is_mounted(w, at->path) ||
	    state_of(w->view, at->path, &rule) == STATE_WRITE)
		return;
	pin_between(w, above, at->path);
	push_mount(w, MOUNT_PIN, at, rule, "a protected link")->loose =
		w->plan->ephemeral;
}

/* The directories that every home has, empty, and links to programs. @path is
 * where it really is, @named as the policy has it.
 */
static void furnish(struct walk *w, const char *path, const char *named,
		    unsigned int mask)
{
	static const enum policy_dir dirs[] = {
		DIR_CONFIG, DIR_CACHE, DIR_DATA, DIR_STATE,
	};
	const struct policy *policy = w->view->policy;
	const size_t n = strlen(path) + 1;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const char *dir = policy->dirs[dirs[i]];

		if (dir && path_is_below(named, dir))
			add_point(w, mask, dir + strlen(named) + 1, true)->open =
				true;
	}
	if (policy->home && !strcmp(policy->home, named))
		add_point(w, mask, ".local/bin", true)->open = true;
	for (size_t i = 0; i < w->view->links.len; i++) {
		const struct view_link *link = &w->view->links.v[i];
		struct plan_point *point;

		if (!path_is_below(path, link->path) ||
		    view_place(w->view, link->path) != VIEW_PRIVATE)
			continue;
		point = add_point(w, mask, link->path + n, false);
		point->open = true;
		point->target = mem_strdup(link->target);
	}
}

/* $HOME itself may be a link in a directory that is hidden */
static void show_home_link(struct walk *w, struct level *hidden)
{
	for (size_t i = 0; i < w->view->links.len; i++) {
		const struct view_link *link = &w->view->links.v[i];
		auto_free char *parent = path_parent(link->path);

		if (!link->home || strcmp(parent, hidden->path) != 0)
			continue;
		push_point(w, hidden, link->path, false);
		w->plan->points.v[w->plan->points.len - 1].target =
			mem_strdup(link->target);
	}
}

/* A directory in a state of the sandbox's own, with a skeleton directory */
static struct plan_mount *push_own(struct walk *w, struct level *above,
				   const struct view_rule *at, enum mount_kind kind,
				   enum state state, const struct path_rule *rule,
				   const char *reason)
{
	struct plan_mount *m;

	if (above->state != STATE_READ && above->state != STATE_WRITE)
		push_point(w, above, at->path, true);
	m = push_mount(w, kind, at, rule, reason);
	m->mask = w->plan->masks++;
	push_level(w, at->path, state);
	w->v[w->len - 1].mask = m->mask;
	return m;
}

static void visit_private(struct walk *w, struct level *above,
			  const struct view_rule *at,
			  const struct path_rule *rule)
{
	struct plan_mount *m = push_own(w, above, at, MOUNT_PRIVATE, STATE_PRIVATE,
					rule, "empty and private");

	m->loose = true;
	furnish(w, at->path, at->rule->path, m->mask);
}

/* A cache that stays writable where no layer can be had */
static void push_spare(struct walk *w, const struct view_rule *at,
		       const struct path_rule *rule, unsigned int mask)
{
	struct plan_mount *m = push_mount(w, MOUNT_SPARE, at, rule,
					  "writable, if there is no layer");

	m->pristine = true;
	m->mask = mask;
}

static void visit_layer(struct walk *w, struct level *above,
			const struct view_rule *at,
			const struct path_rule *rule)
{
	struct plan_mount *m = push_own(w, above, at, MOUNT_LAYER, STATE_LAYER, rule,
					"a private layer");

	m->pristine = true;
	add_point(w, m->mask, "u", true)->open = true;
	add_point(w, m->mask, "w", true)->open = true;
	if (rule->place == PLACE_CACHE)
		push_spare(w, at, rule, m->mask);
}

/* Is what stands in there now not what will? */
static bool is_over(const struct walk *w, const struct level *above)
{
	return above->state == STATE_LAYER ||
	       (above->state == STATE_WRITE && w->plan->ephemeral);
}

static struct plan_mount *push_root(struct walk *w,
				    const struct view_rule *at,
				    const struct path_rule *rule)
{
	unsigned int number = 0;
	struct plan_mount *m;

	if (!w->plan->ephemeral)
		return push_mount(w, MOUNT_BIND_RW, at, rule, "writable");
	for (size_t i = 0; i < w->plan->mounts.len; i++)
		number += w->plan->mounts.v[i].kind == MOUNT_STAGED;
	m = push_mount(w, MOUNT_STAGED, at, rule, "changes are staged");
	m->mask = number;
	return m;
}

static void visit_hidden(struct walk *w, struct level *above,
			 const struct view_rule *at,
			 const struct path_rule *rule)
{
	struct plan_mount *m;

	if (above->state == STATE_TMP || above->state == STATE_PRIVATE)
		return;		/* The host's file is not in there */
	if (!at->mode)
		push_point(w, above, at->path, true);
	m = push_mount(w, S_ISDIR(at->mode) || !at->mode ? MOUNT_MASK_DIR
							 : MOUNT_MASK_FILE,
		       at, rule, "hidden");
	m->loose = is_over(w, above);
	m->layer = at->mode ? 0 : above->mask;
	push_level(w, at->path, STATE_HIDDEN);
	show_home_link(w, &w->v[w->len - 1]);
}

static void visit_shown(struct walk *w, struct level *above,
			const struct view_rule *at, enum state state,
			const struct path_rule *rule)
{
	const bool inside = above->state == STATE_WRITE ||
			    above->state == STATE_LAYER;
	struct plan_mount *m;

	if (state == STATE_READ && inside) {
		m = push_mount(w, MOUNT_BIND_RO, at, rule, "read-only");
		m->loose = is_over(w, above);
	} else {
		if (above->state != STATE_READ && !inside)
			push_point(w, above, at->path, S_ISDIR(at->mode));
		m = state == STATE_WRITE ? push_root(w, at, rule) :
		    push_mount(w, MOUNT_SHOW, at, rule, "shown again");
		m->pristine = true;
	}
	push_level(w, at->path, state);
}

/* A file of which a part may be shown also has a mask of its own in a directory that is
 * hidden
 */
static bool is_masked(const struct walk *w, const struct view_rule *at)
{
	return S_ISREG(at->mode) &&
	       policy_has_string(w->view->policy, LIST_MASKED_FILES,
				 at->rule->path);
}

static void visit(struct walk *w, const struct view_rule *at)
{
	const struct path_rule *rule;
	const enum state state = state_of(w->view, at->path, &rule);
	struct level *above;

	while (!path_is_within(w->v[w->len - 1].path, at->path))
		w->len--;
	above = &w->v[w->len - 1];
	/* What is not there is covered in layers only */
	if (!at->mode && (above->state != STATE_LAYER ||
			  (state != STATE_HIDDEN && state != STATE_PRIVATE)))
		return;
	if (state == STATE_LAYER && above->state == STATE_LAYER &&
	    at->rule->place == PLACE_CACHE &&
	    strcmp(above->path, at->path) != 0)
		push_spare(w, at, rule, above->mask);
	if (state == STATE_HIDDEN && above->state == STATE_HIDDEN &&
	    strcmp(above->path, at->path) != 0 && is_masked(w, at)) {
		push_point(w, above, at->path, false);
		push_mount(w, MOUNT_MASK_FILE, at, rule, "hidden")->loose = true;
	}
	if (!strcmp(above->path, at->path) || state == above->state)
		return;

	if (at->mode && (above->state == STATE_WRITE ||
			 above->state == STATE_LAYER))
		pin_between(w, above, at->path);
	switch (state) {
	case STATE_HIDDEN:
		visit_hidden(w, above, at, rule);
		break;
	case STATE_WRITE:
	case STATE_READ:
		visit_shown(w, above, at, state, rule);
		break;
	case STATE_PRIVATE:
		visit_private(w, above, at, rule);
		break;
	case STATE_LAYER:
		visit_layer(w, above, at, rule);
		break;
	case STATE_TMP:		/* The sandbox mounts it itself */
		push_level(w, at->path, state);
		break;
	}
}

/* When in doubt, true: then the mount fails, and nothing runs */
static bool may_pass(const char *dir, const struct stat *st)
{
	if (st->st_uid == 0 || (st->st_mode & S_IXOTH))
		return true;
	/* The group's bit is also what an access list can grant at most */
	if (!(st->st_mode & S_IXGRP))
		return false;
	return st->st_gid == getegid() || group_member(st->st_gid) ||
	       lgetxattr(dir, "system.posix_acl_access", NULL, 0) >= 0;
}

/* False if a command cannot get to @path, whatever we mount. Root can look at all of
 * it out here; in the sandbox its capabilities count for its own files only, so that
 * nothing can be mounted below a closed directory of another user. Other callers than
 * root find out by looking.
 */
static bool is_mountable(const char *path)
{
	auto_free char *dir = geteuid() == 0 ? path_parent(path) : NULL;
	struct stat st;

	while (dir && dir[1]) {
		char *above = path_parent(dir);
		const bool closed = lstat(dir, &st) == 0 && !may_pass(dir, &st);

		free(dir);
		dir = above;
		if (closed)
			return false;
	}
	return true;
}

void mounts_plan(struct plan *plan, const struct view *view)
{
	char tmp[] = "/tmp";
	const struct view_rule private_tmp = { .path = tmp, .mode = S_IFDIR };
	const size_t n = view->rules.len;
	auto_free const struct view_rule **sorted =
		mem_zalloc((n + 1) * sizeof(*sorted));
	struct walk w = {
		.plan = plan, .view = view, .mounted = dedup_new(),
	};
	size_t count = 0;

	plan->masks = MASK_FIRST;
	/* What does not exist cannot be mounted on; the observer and the exit
	 * check watch for it
	 */
	for (size_t i = 0; i < n; i++) {
		if ((view->rules.v[i].mode ||
		     view->rules.v[i].rule->place == PLACE_COVER ||
		     view->rules.v[i].rule->place == PLACE_PRIVATE) &&
		    (view->rules.v[i].list == PATH_ALLOW_WRITE ||
		     is_mountable(view->rules.v[i].path)))
			sorted[count++] = &view->rules.v[i];
	}
	if (view->private_tmp)
		sorted[count++] = &private_tmp;
	qsort(sorted, count, sizeof(*sorted), compare_rules);

	push_level(&w, "/", plan->root_writable ? STATE_WRITE : STATE_READ);
	for (size_t i = 0; i < count; i++) {
		if (S_ISLNK(sorted[i]->mode))
			visit_link(&w, sorted[i]);
		else
			visit(&w, sorted[i]);
	}
	dedup_free(w.mounted);
	free(w.v);
}
