/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/change.c - what edited settings change in the mounts of a running sandbox
 *
 * Nobody remembers what stands where: after a few edits mounts lie on top of each
 * other, and what was thought to be there is not. So this says how each path that
 * was ever a mount should be, and the keeper looks what it is.
 *
 * That a mask is not wanted any more is never taken from its absence alone: the
 * policy must say that the path may be read, and the mask must not be ours.
 *
 * A path that an edit makes writable becomes a mount as well: Landlock refuses to
 * write there, which the observer does instead, but access() and what is done
 * to open files ask the mount alone.
 */

#include "plan/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/view.h"

/* Which kinds a search is for */
enum {
	MASKS = 1 << MOUNT_MASK_DIR | 1 << MOUNT_MASK_FILE,
	READ_ONLY = 1 << MOUNT_BIND_RO,
	SHOWN = 1 << MOUNT_SHOW | 1 << MOUNT_BIND_RW,
	WRITABLE = 1 << MOUNT_BIND_RW | 1 << MOUNT_PIN,
	HOST = MASKS | READ_ONLY | SHOWN | WRITABLE,	/* What is in it is */
};

void mounted_add(struct mounted_list *list, const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		*vec_push(list) = (struct mounted){
			.kind = m->kind, .path = mem_strdup(m->path),
			.is_dir = m->is_dir,
			.ours = !m->rule || m->rule->strength == RULE_ALWAYS,
			.dev = m->loose ? 0 : m->dev,
			.ino = m->loose ? 0 : m->ino,
		};
	}
}

static int compare(const void *a, const void *b)
{
	const struct mounted *x = a, *y = b;
	const int r = strcmp(x->path, y->path);

	return r ? r : (int)x->kind - (int)y->kind;
}

void mounted_sort(struct mounted_list *list)
{
	if (list->len)
		qsort(list->v, list->len, sizeof(*list->v), compare);
}

void mounted_done(struct mounted_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->v[i].path);
	free(list->v);
	*list = (struct mounted_list){ 0 };
}

static bool is_of(const struct mounted *m, unsigned int kinds)
{
	return kinds & 1U << m->kind;
}

bool mounted_is_work(const struct mounted *m)
{
	return !is_of(m, MASKS | READ_ONLY | 1 << MOUNT_SHOW);
}

/* The first at or after @path */
static size_t lower_bound(const struct mounted_list *list, const char *path)
{
	size_t low = 0, high = list->len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(list->v[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct mounted *find(const struct mounted_list *list, const char *path,
			    unsigned int kinds)
{
	for (size_t i = lower_bound(list, path);
	     i < list->len && !strcmp(list->v[i].path, path); i++) {
		if (is_of(&list->v[i], kinds))
			return &list->v[i];
	}
	return NULL;
}

void mounted_merge(struct mounted_list *list, const struct mounted_list *other)
{
	const size_t known = list->len;

	for (size_t i = 0; i < other->len; i++) {
		const struct mounted *m = &other->v[i];
		const struct mounted_list sorted = { list->v, known, 0 };
		struct mounted *same = find(&sorted, m->path, 1U << m->kind);

		if (same) {
			same->ours |= m->ours;
			continue;
		}
		same = vec_push(list);
		*same = *m;
		same->path = mem_strdup(m->path);
	}
	mounted_sort(list);
}

/* The mask that @path, which is none, is hidden by; or NULL, also if something
 * in that is shown, and @path is in there
 */
static const struct mounted *find_above(const struct mounted_list *list,
					const char *path)
{
	auto_free char *dir = path_parent(path);
	const struct mounted *found = find(list, dir, MASKS | SHOWN);

	while (!found && dir[1]) {
		char *above = path_parent(dir);

		free(dir);
		dir = above;
		found = find(list, dir, MASKS | SHOWN);
	}
	return found && mounted_is_mask(found) ? found : NULL;
}

/* True if @path is in something that was a mount of its own: that may have been
 * closed, and @path with it
 */
static bool is_in_mount(const struct mounted_list *known, const char *path)
{
	auto_free char *dir = path_parent(path);
	bool found = find(known, dir, WRITABLE | READ_ONLY);

	while (!found && dir[1]) {
		char *above = path_parent(dir);

		free(dir);
		dir = above;
		found = find(known, dir, WRITABLE | READ_ONLY);
	}
	return found;
}

static bool may_read(const struct view *view, const char *path)
{
	return view_verdict(view, VIEW_READ, path).allowed;
}

static bool may_write(const struct view *view, const char *path)
{
	return view_verdict(view, VIEW_WRITE, path).allowed;
}

/* True if something in @path, which may be seen, stays closed: by @next, or because
 * it may have been writable
 */
static bool is_closed_in(const struct mounted_list *known,
			 const struct mounted_list *next,
			 const struct view *view, const char *path)
{
	const size_t n = strlen(path);

	for (size_t i = lower_bound(next, path); i < next->len &&
	     !strncmp(next->v[i].path, path, n); i++) {
		if (is_of(&next->v[i], MASKS | READ_ONLY) &&
		    path_is_within(path, next->v[i].path))
			return true;
	}
	for (size_t i = lower_bound(known, path); i < known->len &&
	     !strncmp(known->v[i].path, path, n); i++) {
		if (is_of(&known->v[i], WRITABLE | READ_ONLY) &&
		    path_is_within(path, known->v[i].path) &&
		    !may_write(view, known->v[i].path))
			return true;
	}
	return false;
}

static void push(struct changes *ret, enum change_kind kind,
		 const struct mounted *m)
{
	*vec_push(ret) = (struct change){ .kind = kind, .mount = m };
}

/* What was a mount at some time, and may be another one by now: of a mask, what was
 * put on it to be seen
 */
static void settle(const struct mounted *m, const struct mounted_list *known,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret)
{
	const bool readable = may_read(view, m->path);
	const bool writable = may_write(view, m->path);

	if (find(next, m->path, MASKS) || find(known, m->path, ~HOST))
		return;
	if (mounted_is_mask(m) && !m->ours && readable &&
	    !find(next, m->path, SHOWN))
		*vec_push(ret) = (struct change){
			.kind = CHANGE_SHOW, .mount = m,
			.plain = !is_closed_in(known, next, view, m->path),
			.read_only = !writable,
		};
	if (!m->ours && !readable && find_above(next, m->path))
		push(ret, CHANGE_HIDE, m);
	if (!writable)
		push(ret, CHANGE_CLOSE, m);
	else if (!find(next, m->path, READ_ONLY) &&
		 (is_of(m, WRITABLE) || !m->ours))
		push(ret, CHANGE_OPEN, m);
}

/* What is shown in a mask, or writable */
static void show(const struct mounted *m, const struct mounted_list *known,
		 const struct mounted_list *next, const struct view *view,
		 struct changes *ret)
{
	const struct mounted *mask = find_above(next, m->path);

	/* One file could not be replaced any more, if it were a mount */
	if (m->kind == MOUNT_BIND_RW && !m->is_dir && !mask &&
	    !find(known, m->path, MASKS) && !is_in_mount(known, m->path))
		return;
	*vec_push(ret) = (struct change){
		.kind = CHANGE_SHOW, .mount = m, .mask = mask,
		.plain = !mask && !is_closed_in(known, next, view, m->path),
		.read_only = m->kind == MOUNT_SHOW,
		.writable = m->kind == MOUNT_BIND_RW,
	};
}

static int compare_steps(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const int path = strcmp(x->mount->path, y->mount->path);

	return path ? path : (int)x->kind - (int)y->kind;
}

void changes_build(const struct mounted_list *known,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret)
{
	for (size_t i = 0; i < known->len; i++)
		settle(&known->v[i], known, next, view, ret);
	for (size_t i = 0; i < next->len; i++) {
		if (is_of(&next->v[i], SHOWN))
			show(&next->v[i], known, next, view, ret);
	}
	if (ret->len)
		qsort(ret->v, ret->len, sizeof(*ret->v), compare_steps);
}
