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
 * cage's own little file system with mount points ("stubs") in it.
 */

#include "plan/mounts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/plan.h"
#include "plan/view.h"

enum state { STATE_HIDDEN, STATE_READ, STATE_WRITE, STATE_TMP };

/**
 * struct level - A visited path that the next ones may lie below
 * @path:	Not owned
 * @state:	How it is seen
 * @mask:	Skeleton directory, if hidden and shown through
 * @mount:	Index of its mount, for a mask that gains a first stub
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
 */
struct walk {
	struct plan *plan;
	const struct view *view;
	struct level *v;
	size_t len, cap;
};

int mounts_compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int compare_rules(const void *a, const void *b)
{
	const struct view_rule *const *x = a, *const *y = b;

	return mounts_compare_paths((*x)->path, (*y)->path);
}

/* What kind of world does the command see at @path? */
static enum state state_of(const struct view *view, const char *path,
			   const struct path_rule **rule)
{
	struct verdict v = view_verdict(view, VIEW_READ, path);

	*rule = v.rule;
	if (!v.allowed)
		return STATE_HIDDEN;
	if (view_is_private(view, path))
		return STATE_TMP;
	v = view_verdict(view, VIEW_WRITE, path);
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

/* A directory between a writable root and what is protected in it */
static void push_pin(struct walk *w, const char *path)
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
		   "so that what is protected inside cannot be renamed away");
	free(at.path);
}

static bool is_mounted(const struct walk *w, const char *path)
{
	for (size_t i = w->plan->mounts.len; i-- > 0;) {
		if (!strcmp(w->plan->mounts.v[i].path, path))
			return true;
	}
	return false;
}

/* Pin every directory strictly between the writable @above and @path */
static void pin_between(struct walk *w, const char *above, const char *path)
{
	const size_t start = strlen(above) == 1 ? 0 : strlen(above);
	const char *p = path + start;

	while ((p = strchr(p + 1, '/')) != NULL) {
		auto_free char *dir = mem_strndup(path, (size_t)(p - path));

		if (!is_mounted(w, dir))
			push_pin(w, dir);
	}
}

/* A mount point for @path inside the mask (or private /tmp) of @above */
static void push_stub(struct walk *w, struct level *above, const char *path,
		      bool is_dir)
{
	struct plan_stub *stub;

	if (above->state == STATE_TMP) {
		above->mask = MASK_TMP;
	} else if (above->mask == MASK_EMPTY) {
		above->mask = w->plan->masks++;
		w->plan->mounts.v[above->mount].mask = above->mask;
	}
	stub = vec_push(&w->plan->stubs);
	stub->mask = above->mask;
	stub->path = mem_strdup(path + strlen(above->path) + 1);
	stub->is_dir = is_dir;
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
	pin_between(w, above->path, at->path);
	push_mount(w, MOUNT_PIN, at, rule, "a protected link");
}

static void visit(struct walk *w, const struct view_rule *at)
{
	const struct path_rule *rule;
	const enum state state = state_of(w->view, at->path, &rule);
	struct level *above;
	struct plan_mount *m;

	while (!path_is_within(w->v[w->len - 1].path, at->path))
		w->len--;
	above = &w->v[w->len - 1];
	if (!strcmp(above->path, at->path) || state == above->state)
		return;

	if (above->state == STATE_WRITE)
		pin_between(w, above->path, at->path);
	if (state == STATE_HIDDEN && above->state == STATE_TMP)
		return;		/* The host's file is not in a private /tmp */

	switch (state) {
	case STATE_HIDDEN:
		push_mount(w, S_ISDIR(at->mode) ? MOUNT_MASK_DIR
						: MOUNT_MASK_FILE,
			   at, rule, "hidden");
		break;
	case STATE_WRITE:
		if (above->state != STATE_READ)
			push_stub(w, above, at->path, S_ISDIR(at->mode));
		m = push_mount(w, MOUNT_BIND_RW, at, rule, "writable");
		m->pristine = true;
		break;
	case STATE_READ:
		if (above->state == STATE_WRITE) {
			push_mount(w, MOUNT_BIND_RO, at, rule, "read-only");
			break;
		}
		push_stub(w, above, at->path, S_ISDIR(at->mode));
		m = push_mount(w, MOUNT_SHOW, at, rule, "shown again");
		m->pristine = true;
		break;
	case STATE_TMP:		/* The cage mounts it itself */
		break;
	}
	push_level(w, at->path, state);
}

void mounts_plan(struct plan *plan, const struct view *view)
{
	char tmp[] = "/tmp";
	const struct view_rule private_tmp = { .path = tmp, .mode = S_IFDIR };
	const size_t n = view->rules.len;
	auto_free const struct view_rule **sorted =
		mem_zalloc((n + 1) * sizeof(*sorted));
	struct walk w = { .plan = plan, .view = view };
	size_t count = 0;

	plan->masks = MASK_FIRST;
	/* What does not exist cannot be mounted on; the observer and the exit
	 * check watch for it
	 */
	for (size_t i = 0; i < n; i++) {
		if (view->rules.v[i].mode)
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
	free(w.v);
}
