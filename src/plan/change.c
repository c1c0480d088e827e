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
	WRITABLE = 1 << MOUNT_BIND_RW | 1 << MOUNT_PIN,
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

/* Behind a mask at @path does not count: it does not go with that */
static bool has_below(const struct mounted_list *list, const char *path,
		      unsigned int kinds)
{
	for (size_t i = lower_bound(list, path); i < list->len; i++) {
		if (strncmp(list->v[i].path, path, strlen(path)) != 0)
			break;
		if (is_of(&list->v[i], kinds) && !list->v[i].behind &&
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

/* An earlier step has given @mask a directory of its own */
static bool is_furnished(const struct changes *changes,
			 const struct mounted *mask)
{
	for (size_t i = 0; i < changes->len; i++) {
		if (changes->v[i].mask == mask)
			return true;
	}
	return false;
}

/* Something that @now does not show, or not as writable */
static void show(const struct mounted *m, const struct mounted_list *now,
		 const struct mounted_list *next, struct changes *ret)
{
	const struct mounted *mask = find_above(next, m->path), *before;
	const bool read_only = m->kind == MOUNT_SHOW;

	before = mask ? find(now, mask->path, MASKS) : NULL;
	/* It stands, and no mask has come over it */
	if (find(now, m->path, ALL & ~MASKS) && !mask == !before)
		return;
	/* Who is asked to write there for the command does not get through */
	ret->declined += mask && !read_only;
	/* Our own /tmp hides it, or it is one file, which could not be replaced
	 * any more
	 */
	if (!mask && (read_only || !m->is_dir)) {
		ret->declined += read_only;
		return;
	}
	push(ret, (struct change){ CHANGE_SHOW, m, mask,
				   before && before->empty &&
				   !is_furnished(ret, mask), read_only,
				   !read_only });
}

/* What stands, and should not, or not so */
static void drop(const struct mounted *m, const struct mounted_list *now,
		 const struct mounted_list *next, const struct view *view,
		 struct changes *ret)
{
	const bool readable = view_verdict(view, VIEW_READ, m->path).allowed;
	const bool writable = view_verdict(view, VIEW_WRITE, m->path).allowed;
	const struct mounted *inside = find_above(next, m->path);

	if (find(next, m->path, MASKS))
		return;
	if (mounted_is_mask(m) && !m->ours && readable && !inside)
		unmask(m, now, next, ret);
	else if (is_of(m, SHOWN) && !m->ours && !readable && !m->behind &&
		 inside && find(now, inside->path, MASKS))
		push(ret, (struct change){ .kind = CHANGE_HIDE, .mount = m });
	else if (is_of(m, WRITABLE) && !writable)	/* Again, each time */
		push(ret, (struct change){ .kind = CHANGE_CLOSE, .mount = m });
	else if (writable && (m->closed || (is_of(m, READ_ONLY) && !m->ours)) &&
		 !find(next, m->path, READ_ONLY))
		push(ret, (struct change){ .kind = CHANGE_OPEN, .mount = m });
}

static int compare_steps(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const int late = (x->kind == CHANGE_SHOW) - (y->kind == CHANGE_SHOW);
	const int path = strcmp(x->mount->path, y->mount->path);

	return late ? late : path ? path : (int)x->kind - (int)y->kind;
}

void changes_build(const struct mounted_list *now,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret)
{
	for (size_t i = 0; i < next->len; i++) {
		const struct mounted *m = &next->v[i];
		const struct mounted *there = find(now, m->path,
			mounted_is_mask(m) ? MASKS : READ_ONLY);

		if (is_of(m, MASKS | READ_ONLY) && (!there || there->behind))
			push(ret, (struct change){ .kind = CHANGE_COVER,
						   .mount = m });
	}
	for (size_t i = 0; i < now->len; i++)
		drop(&now->v[i], now, next, view, ret);
	for (size_t i = 0; i < next->len; i++) {
		const struct mounted *m = &next->v[i];

		if (is_of(m, SHOWN))
			show(m, now, next, ret);
	}
	if (ret->len)
		qsort(ret->v, ret->len, sizeof(*ret->v), compare_steps);
}

static void set_furnished(struct mounted_list *list, const char *mask)
{
	for (size_t i = 0; i < list->len; i++) {
		if (!strcmp(list->v[i].path, mask))
			list->v[i].empty = false;
	}
}

static void set_behind(struct mounted_list *list, const char *path, bool behind)
{
	for (size_t i = 0; i < list->len; i++) {
		if (path_is_within(path, list->v[i].path))
			list->v[i].behind = behind;
	}
}

static const struct change *find_step(const struct changes *changes,
				      const struct mounted *m)
{
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];

		if (c->mount == m && c->kind != CHANGE_COVER)
			return c;
	}
	return NULL;
}

/* Into @ret what @m has become by the step @c, if it still stands */
static void keep_old(const struct mounted *m, const struct change *c,
		     struct mounted_list *ret)
{
	struct mounted *kept;

	if (c && c->kind != CHANGE_CLOSE && c->kind != CHANGE_OPEN)
		return;
	kept = vec_push(ret);
	*kept = *m;
	kept->path = mem_strdup(m->path);
	kept->closed = c ? c->kind == CHANGE_CLOSE : m->closed;
	if (c && is_of(m, READ_ONLY))
		kept->kind = MOUNT_PIN;
}

void changes_apply(const struct changes *changes, struct mounted_list *now)
{
	struct mounted_list next = { 0 };

	for (size_t i = 0; i < now->len; i++)
		keep_old(&now->v[i], find_step(changes, &now->v[i]), &next);
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];
		const char *path = c->mount->path;
		const bool mask = mounted_is_mask(c->mount);

		if (c->kind == CHANGE_SHOW && c->mask)
			set_furnished(&next, c->mask->path);
		if (mask && c->kind != CHANGE_HIDE)
			set_behind(&next, path, c->kind == CHANGE_COVER);
		if (c->kind == CHANGE_COVER || (c->kind == CHANGE_SHOW && !mask)) {
			struct mounted *m = vec_push(&next);

			*m = *c->mount;
			m->path = mem_strdup(path);
		}
	}
	mounted_done(now);
	*now = next;
	mounted_sort(now);
}
