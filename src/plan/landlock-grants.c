/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/landlock-grants.c - the landlock tier: verdicts as a list of Landlock grants
 *
 * Theory of operation: Landlock only adds. A grant on a directory counts for
 * all below it, and nothing can be taken back there. So a directory that holds
 * something with fewer rights than itself is carved: its entries are granted
 * one by one, and the one that leads to the exception is carved in turn. What
 * is lost is on the safe side, and `explain` says so:
 *
 * - Nothing can be made, removed or renamed in a carved directory itself (the
 *   right to do so would count inside the exception as well). What the policy
 *   allows there is done by the observer on the command's behalf.
 * - What appears later beside a hidden path is hidden too.
 * - A directory above a hidden directory cannot be listed: the right to list
 *   it would list the hidden one.
 *
 * A protected path needs no exception where it is a read-only mount already, without
 * another mount in it, and each directory on the way to it from the granted one is a
 * mount as well: the kernel refuses to write to it and to rename any of them, and the
 * command cannot unmount them. In another sandbox of ours all of .git is like that, and
 * no observer could make git's files on its behalf.
 *
 * Links are not granted: whatever they lead to has its own grants.
 */

#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "view/view.h"

enum { MOUNTS_TEXT_MAX = 1 << 22 };	/* Of mountinfo */

/**
 * struct point - A path that some rule names, and how it is seen
 * @plain:	Its names are no secret: listing it is harmless
 */
struct point {
	const char *path;
	enum grant_right right;
	bool is_dir, plain;
	const struct path_rule *rule;
};

/**
 * struct carver - State of one list of grants
 * @v, @len:	All points, parents first
 */
struct carver {
	struct plan *plan;
	struct point *v;
	size_t len, cap;
	struct err *err;
	unsigned int depth;
};

/**
 * struct place - A path to grant, and the points strictly below it
 * @have:	What a grant further up gives already
 */
struct place {
	const char *path;
	enum grant_right right, have;
	const struct path_rule *rule;
	size_t first, last;
};

void landlock_grants_close_tmp(struct view *view, const char *tmpdir)
{
	if (view->private_tmp)
		view_add(view, PATH_DENY_READ, "/tmp",
			 view_own_rule(view, "/tmp", "/tmp",
				       "the host's /tmp is closed in this tier; $TMPDIR is private"),
			 false);
	for (size_t i = 0; view->private_var_tmp && i < view->rules.len; i++) {
		struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_DENY_READ && !strcmp(r->path, VAR_TMP) &&
		    r->rule->place == PLACE_PRIVATE) {
			free(r->path);
			*r = view->rules.v[--view->rules.len];
			break;
		}
	}
	view->private_tmp = view->private_var_tmp = false;
	view->own_dir = NULL;	/* Without mounts it is the host's, and hidden */
	if (tmpdir)
		view_add(view, PATH_ALLOW_WRITE, tmpdir,
			 view_own_rule(view, tmpdir, "$TMPDIR",
				       "the private temporary directory"),
			 false);
	view_sort(view);
}

static enum grant_right right_at(const struct view *view, const char *path,
				 const struct path_rule **rule)
{
	struct verdict v = view_verdict(view, VIEW_READ, path);

	*rule = v.rule;
	if (!v.allowed)
		return GRANT_NOTHING;
	v = view_verdict(view, VIEW_WRITE, path);
	*rule = v.rule;
	return v.allowed ? GRANT_WRITE : GRANT_READ;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return path_compare(x->path, y->path);
}

/* True if @path is a mount; with @read_only, a read-only one */
static bool is_mount(const char *path, bool read_only)
{
	auto_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statvfs fs;
	struct statx x;

	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x) == 0 &&
	       (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) &&
	       (!read_only || (fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_RDONLY));
}

/* True if @mounts, as mountinfo has them, may have one below @path. Some names are
 * written in another way there.
 */
static bool has_mounts(const struct buf *mounts, const char *path)
{
	auto_free char *below = mem_printf(" %s/", path);

	return !mounts->len || strpbrk(path, " \t\n\\#") ||
	       strstr(buf_str(mounts), below);
}

/* True if mounts keep @path, which may only be read, and its name as they are, up to
 * the root that is writable
 */
static bool is_mounted(const struct view *view, const struct buf *mounts,
		       const char *path)
{
	auto_free char *above = mem_strdup(path);
	const struct path_rule *rule;
	bool known = is_mount(path, true) && !has_mounts(mounts, path);

	while (known && path_up(above) && right_at(view, above, &rule) == GRANT_WRITE)
		known = is_mount(above, false);
	return known;
}

/* Every existing path of a rule, each once; /proc and /sys, where the right to
 * write to all of the root ends; and /dev, of which the sandbox grants the harmless
 * devices one by one
 */
static void collect(struct carver *c, const struct view *view)
{
	static const char *const kernel[] = { "/proc", "/sys" };
	auto_buf struct buf mounts = { 0 };
	size_t kept = 0;

	if (fs_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_TEXT_MAX, &mounts, NULL) < 0)
		buf_done(&mounts);	/* Part of it is not enough */
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];
		struct point *p;

		if (!r->mode || path_is_within("/dev", r->path) ||
		    !strcmp(r->path, "/"))
			continue;
		p = vec_push(c);
		p->path = r->path;
		p->is_dir = S_ISDIR(r->mode);
		p->plain = !strcmp(r->path, "/tmp");
		p->right = right_at(view, r->path, &p->rule);
		if (p->right == GRANT_READ && is_mounted(view, &mounts, r->path))
			p->right = GRANT_WRITE;
	}
	for (size_t i = 0; c->plan->root_writable && i < ARRAY_SIZE(kernel);
	     i++) {
		struct point p = {
			.path = kernel[i], .is_dir = true, .plain = true,
		};

		p.right = right_at(view, p.path, &p.rule);
		*vec_push(c) = p;
	}
	*vec_push(c) = (struct point){
		.path = "/dev", .right = GRANT_NOTHING, .is_dir = true,
		.plain = true,
	};
	qsort(c->v, c->len, sizeof(*c->v), compare_points);
	for (size_t i = 0; i < c->len; i++) {
		if (!kept || strcmp(c->v[kept - 1].path, c->v[i].path) != 0)
			c->v[kept++] = c->v[i];
	}
	c->len = kept;
}

static int push(struct carver *c, const struct place *at,
		enum grant_right right, bool beside)
{
	struct plan_grant *g;
	struct stat st;

	if (right <= at->have)
		return 0;
	if (c->plan->grants.len == LANDLOCK_GRANTS_MAX)
		return fail(c->err, -E2BIG, "the landlock tier cannot express the rules: over %d directory entries lie beside what is hidden or protected, '%s' among them; hide or protect fewer paths in large directories, or use tier full",
			    LANDLOCK_GRANTS_MAX, at->path);
	if (lstat(at->path, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;	/* Gone, or a link: granted nothing */
	g = vec_push(&c->plan->grants);
	g->path = mem_strdup(at->path);
	g->right = right;
	g->dev = st.st_dev;
	g->ino = st.st_ino;
	g->beside = beside;
	g->rule = at->rule;
	return 0;
}

static int emit(struct carver *c, const struct place *at, bool beside);

/* The points at or below @path, from @first on and before @last */
static size_t span(const struct carver *c, const char *path, size_t *first,
		   size_t last)
{
	size_t end;

	while (*first < last && !path_is_within(path, c->v[*first].path))
		(*first)++;
	for (end = *first; end < last &&
	     path_is_within(path, c->v[end].path); end++)
		;
	return end;
}

/* One entry of a carved directory, or a point inside something granted */
static int descend(struct carver *c, const struct place *above,
		   const char *path, enum grant_right have, bool beside)
{
	struct place at = {
		.path = path, .right = above->right, .have = have,
		.rule = above->rule, .first = above->first,
	};

	at.last = span(c, path, &at.first, above->last);
	if (at.first < at.last && !strcmp(c->v[at.first].path, path)) {
		at.right = c->v[at.first].right;
		at.rule = c->v[at.first].rule;
		at.first++;
	}
	return emit(c, &at, beside);
}

/* The points directly below, where the rest is decided */
static int emit_points(struct carver *c, const struct place *at,
		       enum grant_right have)
{
	size_t i = at->first;

	while (i < at->last) {
		const char *path = c->v[i].path;
		const int r = descend(c, at, path, have, false);

		if (r < 0)
			return r;
		i = span(c, path, &i, at->last);
	}
	return 0;
}

static int carve_entries(struct carver *c, const struct place *at,
			 enum grant_right have)
{
	auto_close int fd = open(at->path, O_RDONLY | O_DIRECTORY |
				 O_NOFOLLOW | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	int r;

	if (fd < 0)
		return fail_errno(c->err, "the landlock tier cannot hide or protect '%s': cannot list '%s'",
				  c->v[at->first].path, at->path);
	while ((r = dir_next(&dir, &entry)) > 0) {
		auto_free char *path = path_join(at->path, entry.name);
		const int done = descend(c, at, path, have, true);

		if (done < 0)
			return done;
	}
	return r < 0 ? fail(c->err, r, "cannot list '%s'", at->path) : 0;
}

static int carve(struct carver *c, const struct place *at, bool hidden,
		 bool hidden_dir)
{
	struct place whole = *at;
	enum grant_right have = at->have;
	struct plan_carved *carved;
	int r = 0;

	if (c->depth == LANDLOCK_GRANTS_DEPTH_MAX)
		return fail(c->err, -ELOOP, "the landlock tier cannot express the rules: '%s' is too deep",
			    at->path);
	/* What all below may have is granted on the whole */
	if (!hidden && have < GRANT_READ)
		have = GRANT_READ;
	else if (!hidden_dir && have < GRANT_LIST)
		have = GRANT_LIST;
	if (have > at->have) {
		whole.have = at->have;
		r = push(c, &whole, have, false);
	}
	carved = vec_push(&c->plan->carved);
	carved->path = mem_strdup(at->path);
	carved->right = at->right;
	carved->listed = have >= GRANT_LIST;
	carved->because = mem_strdup(c->v[at->first].path);
	c->depth++;
	if (r == 0)
		r = carve_entries(c, at, have);
	c->depth--;
	return r;
}

static int emit(struct carver *c, const struct place *at, bool beside)
{
	bool less = false, hidden = false, hidden_dir = false;
	int r;

	for (size_t i = at->first; i < at->last; i++) {
		const struct point *p = &c->v[i];

		less |= p->right < at->right;
		hidden |= p->right == GRANT_NOTHING;
		hidden_dir |= p->right == GRANT_NOTHING && p->is_dir &&
			      !p->plain;
	}
	if (less)
		return carve(c, at, hidden, hidden_dir);
	r = push(c, at, at->right, beside);
	return r < 0 ? r : emit_points(c, at, at->right > at->have ? at->right
								   : at->have);
}

int landlock_grants_plan(struct plan *plan, const struct view *view, struct err *err)
{
	struct carver c = { .plan = plan, .err = err };
	struct place root = {
		.path = "/", .have = GRANT_NOTHING,
		.right = plan->root_writable ? GRANT_WRITE : GRANT_READ,
	};
	int r;

	collect(&c, view);
	root.last = c.len;
	r = emit(&c, &root, false);
	free(c.v);
	return r;
}

bool landlock_grants_cover(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->grants.len; i++) {
		const struct plan_grant *g = &plan->grants.v[i];

		if (g->right == GRANT_WRITE && path_is_below(g->path, path))
			return true;
	}
	return false;
}

bool landlock_grants_carve(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->carved.len; i++) {
		if (!strcmp(plan->carved.v[i].path, path))
			return true;
	}
	return false;
}
