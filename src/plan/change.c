/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/change.c - what edited settings change in the mounts of a running sandbox
 *
 * That a mask is not wanted any more is never taken from its absence alone: the
 * policy must say that the path may be read, and the mask must not be ours. A
 * mask with nothing to hide or to keep read-only behind it is taken off. Else
 * what is behind it is put on top of it, finished, so that no moment is open.
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
	ALL = ~0,
};

void mounted_add(struct mounted_list *list, const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		*vec_push(list) = (struct mounted){
			.kind = m->kind, .path = mem_strdup(m->path),
			.is_dir = m->is_dir, .empty = m->mask == MASK_EMPTY,
			.ours = !m->rule || m->rule->strength == RULE_ALWAYS,
			.dev = m->loose ? 0 : m->dev,
			.ino = m->loose ? 0 : m->ino,
		};
	}
}

void mounted_copy(struct mounted_list *list, const struct mounted_list *other)
{
	for (size_t i = 0; i < other->len; i++) {
		struct mounted *m = vec_push(list);

		*m = other->v[i];
		m->path = mem_strdup(m->path);
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

static const struct mounted *find(const struct mounted_list *list,
				  const char *path, unsigned int kinds)
{
	for (size_t i = lower_bound(list, path);
	     i < list->len && !strcmp(list->v[i].path, path); i++) {
		if (is_of(&list->v[i], kinds))
			return &list->v[i];
	}
	return NULL;
}

/* The mask that @path, which is none, is hidden by; or NULL */
static const struct mounted *find_above(const struct mounted_list *list,
					const char *path)
{
	auto_free char *dir = path_parent(path);
	const struct mounted *found = find(list, dir, MASKS);

	while (!found && dir[1]) {
		char *above = path_parent(dir);

		free(dir);
		dir = above;
		found = find(list, dir, MASKS);
	}
	return found;
}

static bool has_below(const struct mounted_list *list, const char *path,
		      unsigned int kinds)
{
	for (size_t i = lower_bound(list, path); i < list->len; i++) {
		if (strncmp(list->v[i].path, path, strlen(path)) != 0)
			break;
		if (is_of(&list->v[i], kinds) &&
		    path_is_below(path, list->v[i].path))
			return true;
	}
	return false;
}

static void push(struct changes *ret, struct change change)
{
	size_t shown = 0;

	for (size_t i = 0; i < ret->len; i++)
		shown += ret->v[i].kind == CHANGE_SHOW;
	if (change.kind == CHANGE_SHOW && shown == CHANGE_SHOWN_MAX)
		ret->declined++;
	else
		*vec_push(ret) = change;
}

/* A mask that @next does not have */
static void unmask(const struct mounted *m, const struct mounted_list *now,
		   const struct mounted_list *next, struct changes *ret)
{
	const bool read_only = find(next, m->path, READ_ONLY);

	/* What can be written there would go with the mask */
	if (has_below(now, m->path, ALL & ~(MASKS | READ_ONLY |
					    1 << MOUNT_SHOW)))
		ret->declined++;
	else if (read_only || has_below(next, m->path, MASKS | READ_ONLY))
		push(ret, (struct change){ .kind = CHANGE_SHOW, .mount = m,
					   .mask = m, .read_only = read_only });
	else
		push(ret, (struct change){ .kind = CHANGE_LIFT, .mount = m });
}

/* Something that @now does not show, or not as writable */
static void show(const struct mounted *m, const struct mounted_list *now,
		 const struct mounted_list *next, struct changes *ret)
{
	const struct mounted *mask = find_above(next, m->path), *before;
	const bool read_only = m->kind == MOUNT_SHOW;

	/* Our own /tmp hides it, or it is one file, which could not be replaced
	 * any more
	 */
	if (!mask && (read_only || !m->is_dir)) {
		ret->declined += read_only;
		return;
	}
	before = mask ? find(now, mask->path, MASKS) : NULL;
	push(ret, (struct change){ CHANGE_SHOW, m, mask,
				   before && before->empty, read_only,
				   !read_only });
}

/* What stands, and should not */
static void drop(const struct mounted *m, const struct mounted_list *now,
		 const struct mounted_list *next, const struct view *view,
		 struct changes *ret)
{
	const bool readable = view_verdict(view, VIEW_READ, m->path).allowed;
	const bool inside = find_above(next, m->path);

	if (m->ours || find(next, m->path, MASKS))
		return;
	if (mounted_is_mask(m) && readable && !inside)
		unmask(m, now, next, ret);
	else if (is_of(m, SHOWN) && !readable && inside)
		push(ret, (struct change){ .kind = CHANGE_HIDE, .mount = m });
	else if (m->kind == MOUNT_BIND_RW && readable &&
		 !find(next, m->path, ALL & ~READ_ONLY))
		push(ret, (struct change){ .kind = CHANGE_CLOSE, .mount = m });
}

void changes_build(const struct mounted_list *now,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret)
{
	for (size_t i = 0; i < next->len; i++) {
		const struct mounted *m = &next->v[i];

		if (mounted_is_mask(m) && !find(now, m->path, MASKS))
			push(ret, (struct change){ .kind = CHANGE_COVER,
						   .mount = m });
	}
	for (size_t i = 0; i < now->len; i++)
		drop(&now->v[i], now, next, view, ret);
	for (size_t i = 0; i < next->len; i++) {
		const struct mounted *m = &next->v[i];

		if (is_of(m, SHOWN) && !find(now, m->path, ALL & ~MASKS))
			show(m, now, next, ret);
	}
}
