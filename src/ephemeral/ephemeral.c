/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ephemeral/ephemeral.c - --ephemeral: the store, and what is different in it
 *
 * Theory of operation: what an overlay writes is in its upper directory. A file
 * there is new or changed, a device 0:0 is a name that was removed, and a
 * directory marked opaque hides what the host has below it. A host's file that
 * changed after the store was made is marked stale: applying would undo that.
 */

#include "ephemeral/ephemeral.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text-diff.h"
#include "guard/tree-copy.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "view/view.h"

/**
 * struct walker - One root's upper directory
 * @since:	When the store was made
 */
struct walker {
	struct ephemeral *store;
	unsigned int root;
	struct timespec since;
	struct err *err;
};

static bool is_removal(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static bool is_opaque(int fd)
{
	char value[2];

	return fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) > 0;
}

static bool is_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static int look_below(const struct ephemeral_below *b, int at, const char *name,
		      const char *path, unsigned int depth)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	int r = fd < 0 || depth > EPHEMERAL_DEPTH_MAX ? -EACCES : 0;

	while (r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);
		struct stat st;

		if (fstatat(fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (b->since && is_after(&st.st_ctim, b->since))
			return 1;
		if (b->may && !b->may(b->arg, below))
			return -EACCES;
		if (S_ISDIR(st.st_mode))
			r = look_below(b, fd, entry.name, below, depth + 1);
	}
	return r;
}

int ephemeral_look_below(const struct ephemeral_below *below, int at,
		     const char *name, const char *path)
{
	return look_below(below, at, name, path, 0);
}

static bool is_stale(const struct walker *w, const char *path,
		     const struct stat *host)
{
	const struct ephemeral_below b = { .since = &w->since };

	return host && (is_after(&host->st_ctim, &w->since) ||
			(S_ISDIR(host->st_mode) &&
			 look_below(&b, AT_FDCWD, path, path, 0) != 0));
}

static int add_change(const struct walker *w, enum ephemeral_kind kind, mode_t mode,
		const char *path, const char *whole, const struct stat *host)
{
	struct ephemeral_change *c;

	if (w->store->changes.len == EPHEMERAL_CHANGES_MAX)
		return fail(w->err, -E2BIG, "more than %d changes are staged",
			    EPHEMERAL_CHANGES_MAX);
	c = vec_push(&w->store->changes);
	c->kind = kind;
	c->path = mem_strdup(path);
	c->whole = whole ? mem_strdup(whole) : NULL;
	c->root = w->root;
	c->stale = is_stale(w, path, host);
	c->linked = kind == EPHEMERAL_MODIFIED && S_ISREG(host->st_mode) &&
		    host->st_nlink > 1;
	c->mode = mode;
	return 0;
}

static int walk(const struct walker *w, int at, const char *name,
		const char *path, const char *whole, unsigned int depth);

/* One name of an upper directory; in @whole the host's are not seen */
static int visit(const struct walker *w, int at, const char *name,
		 const char *path, const char *whole, unsigned int depth)
{
	struct stat st, host;
	const bool there = lstat(path, &host) == 0;
	int r = 0;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (is_removal(&st))
		return there ? add_change(w, EPHEMERAL_DELETED, 0, path, whole, &host)
			     : 0;
	if (!S_ISDIR(st.st_mode) || !there || !S_ISDIR(host.st_mode) ||
	    ((st.st_mode ^ host.st_mode) & 0777))
		r = add_change(w, there ? EPHEMERAL_MODIFIED : EPHEMERAL_ADDED, st.st_mode,
			 path, whole, there ? &host : NULL);
	if (r < 0 || !S_ISDIR(st.st_mode))
		return r;
	return walk(w, at, name, path, whole, depth + 1);
}

/* Names of the host that an opaque directory hides */
static int add_hidden(const struct walker *w, int upper, const char *path,
		       const char *whole)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	int r = 0;

	while (fd >= 0 && r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);
		struct stat st, host;

		if (fstatat(upper, entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		    lstat(below, &host) == 0)
			r = add_change(w, EPHEMERAL_DELETED, 0, below, whole, &host);
	}
	return r;
}

/* Where the store has @path, which is in that root */
static char *upper_path(const struct ephemeral *store, unsigned int root,
			const char *path)
{
	return mem_printf("%u/u%s", root,
			  path + strlen(store->roots.v[root]));
}

static int walk(const struct walker *w, int at, const char *name,
		const char *path, const char *whole, unsigned int depth)
{
	mode_t was = S_IRWXU;
	auto_close int fd = tree_copy_open(at, name, &was);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	struct stat host;
	int r = 0;

	if ((was & S_IRWXU) != S_IRWXU)
		*vec_push(&w->store->opened) = (struct ephemeral_mode){
			upper_path(w->store, w->root, path), was,
		};
	if (fd < 0 || depth > EPHEMERAL_DEPTH_MAX)
		return fail(w->err, -ELOOP, "'%s' cannot be looked at", path);
	if (is_opaque(fd) && lstat(path, &host) == 0) {
		whole = whole ? whole : path;
		r = add_hidden(w, fd, path, whole);
	}
	while (r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);

		r = visit(w, fd, entry.name, below, whole, depth);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct ephemeral_change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Fill in the changes. 0, or a negative errno with a message. */
static int walk_store(struct ephemeral *store, struct err *err)
{
	struct walker w = { .store = store, .err = err };
	struct stat st;
	int r = 0;

	if (fstatat(store->lock, "roots", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "'%s/roots'", store->dir);
	w.since = st.st_mtim;
	for (size_t i = 0; r == 0 && i < store->roots.len; i++) {
		char name[32];

		w.root = (unsigned int)i;
		snprintf(name, sizeof(name), "%zu/u", i);
		r = walk(&w, store->lock, name, store->roots.v[i], NULL, 0);
	}
	if (store->changes.len)
		qsort(store->changes.v, store->changes.len,
		      sizeof(*store->changes.v), compare);
	return r;
}

/* Give directories back the modes that hindered the walk, from the last one, which may
 * be in the one before
 */
static void restore_modes(struct ephemeral *store)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	for (size_t i = store->opened.len; i-- > 0;) {
		const struct ephemeral_mode *m = &store->opened.v[i];
		auto_close int fd = sys_openat2(store->lock, m->path, &how);

		if (fd >= 0)
			(void)fs_chmod(fd, m->mode);
		free(m->path);
	}
	free(store->opened.v);
	store->opened.v = NULL;
	store->opened.len = store->opened.cap = 0;
}

int ephemeral_open_staged(const struct ephemeral *store, const struct ephemeral_change *c,
		     const char **name, struct err *err)
{
	auto_free char *parent = path_parent(c->path);
	auto_free char *dir = upper_path(store, c->root, parent);
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const int fd = sys_openat2(store->lock, dir, &how);

	*name = path_base(c->path);
	return fd < 0 ? fail_errno(err, "'%s' is no longer staged", c->path)
		      : fd;
}

int ephemeral_remove(int at, const char *name)
{
	return tree_copy_remove(at, name, EPHEMERAL_DEPTH_MAX + 1, -1);
}

int ephemeral_drop(struct ephemeral *store, const struct ephemeral_change *change,
	       struct err *err)
{
	auto_free char *parent = path_parent(store->dir);
	auto_close int at = -1;
	const char *name;
	int r;

	if (change) {
		struct ephemeral_change all = *change;

		all.path = change->whole ? change->whole : change->path;
		at = ephemeral_open_staged(store, &all, &name, NULL);
		if (at < 0)	/* It went with its directory */
			return 0;
		r = change->whole ? ephemeral_remove(at, name) :
		    unlinkat(at, name, 0) == 0 ||
		    unlinkat(at, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOTEMPTY || errno == ENOENT ? 0 : -errno;
		return r < 0 ? fail(err, r, "'%s': %s", change->path,
				    strerror(-r)) : 0;
	}
	at = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = at < 0 ? -errno : tree_copy_remove(at, path_base(store->dir),
					       EPHEMERAL_DEPTH_MAX + 1, store->lock);
	if (r == 0)
		(void)rmdir(parent);
	return r < 0 ? fail(err, r, "'%s': %s", store->dir, strerror(-r)) : 0;
}

enum { ROOTS_MAX = 1 << 20 };	/* Bytes of the list of roots */

const char *ephemeral_kind_name(enum ephemeral_kind kind)
{
	static const char *const names[] = {
		[EPHEMERAL_ADDED] = "added", [EPHEMERAL_MODIFIED] = "modified",
		[EPHEMERAL_DELETED] = "deleted",
	};

	return names[kind];
}

char *ephemeral_dir(const struct policy *policy)
{
	auto_free char *name = path_id(policy->project);

	return policy->dirs[DIR_STATE] ?
	       mem_printf("%s/cloche/staged/%s", policy->dirs[DIR_STATE], name) :
	       NULL;
}

char *ephemeral_tmp(const struct policy *policy)
{
	auto_free char *dir = ephemeral_dir(policy);

	return dir ? mem_printf("%s/tmp/tmp", dir) : NULL;
}

static int lock_store(struct ephemeral *store, bool make, struct err *err)
{
	char *real;

	store->lock = make ? fs_open_private_dir(store->dir, err) :
		      open(store->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			   O_CLOEXEC);
	if (store->lock < 0 && !make && errno == ENOENT)
		return 0;
	if (store->lock < 0)
		return make ? store->lock : fail_errno(err, "'%s'", store->dir);
	if (flock(store->lock, LOCK_EX | LOCK_NB) < 0)
		return fail(err, -EBUSY, "another run with --ephemeral uses the changes of this project; wait for its end");
	/* The sandbox follows no link, and ~/.local or the home may be one */
	real = realpath(store->dir, NULL);
	if (!real)
		return fail_errno(err, "'%s'", store->dir);
	free(store->dir);
	store->dir = real;
	return 1;
}

/* The roots, one after the other with a NUL behind each */
static int read_roots(struct ephemeral *store, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(store->lock, "roots", ROOTS_MAX, &text, err);

	if (r < 0)
		return r;
	for (const char *p = text.p; p && p < text.p + text.len;
	     p += strlen(p) + 1)
		*vec_push(&store->roots) = mem_strdup(p);
	return 0;
}

static int write_roots(const struct ephemeral *store, struct err *err)
{
	auto_buf struct buf text = { 0 };
	int r;

	for (size_t i = 0; i < store->roots.len; i++)
		buf_add(&text, store->roots.v[i],
			strlen(store->roots.v[i]) + 1);
	r = fs_replace(store->lock, "roots", text.p, text.len, 0600, err);
	return r < 0 ? fail_in(err, r, "--ephemeral keeps changes in '%s'",
			       store->dir) : 0;
}

/* Go on only with the same roots: their numbers are all that ties them */
static int match_roots(struct ephemeral *store, const struct plan *plan,
		       bool *fresh, struct err *err)
{
	const bool old = faccessat(store->lock, "roots", F_OK, 0) == 0;
	bool same = true;
	size_t n = 0;
	int r = old ? read_roots(store, err) : 0;

	*fresh = !old;
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind != MOUNT_STAGED)
			continue;
		if (!old)
			*vec_push(&store->roots) = mem_strdup(m->path);
		else
			same = same && n < store->roots.len &&
			       !strcmp(store->roots.v[n], m->path);
		n++;
	}
	if (r == 0 && (!same || n != store->roots.len))
		r = fail(err, -EEXIST, "changes of a run with other writable directories are staged; 'cloche apply' or 'cloche discard' them first");
	return r;
}

int ephemeral_start(const struct plan *plan, struct ephemeral *ret, struct err *err)
{
	struct ephemeral a = EPHEMERAL_NONE;
	bool fresh = false;
	int r;

	a.dir = ephemeral_dir(plan->view->policy);
	if (!a.dir)
		return fail(err, -ENOENT, "--ephemeral needs a home to keep changes in");
	r = lock_store(&a, true, err);
	if (r < 0 && r != -EBUSY)
		fail_in(err, r, "--ephemeral keeps changes in $XDG_STATE_HOME or ~/.local/state");
	if (r > 0)
		r = match_roots(&a, plan, &fresh, err);
	for (size_t i = 0; r == 0 && i < a.roots.len; i++) {
		static const char *const names[] = { "", "/u", "/w" };
		char name[32];

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			snprintf(name, sizeof(name), "%zu%s", i, names[j]);
			if (mkdirat(a.lock, name, 0700) < 0 && errno != EEXIST)
				r = fail_errno(err, "'%s/%s'", a.dir, name);
		}
	}
	if (r == 0 && fresh)
		r = write_roots(&a, err);
	if (r < 0) {
		ephemeral_done(&a);
		return r;
	}
	*ret = a;
	return 0;
}

static void forget_changes(struct ephemeral *store)
{
	for (size_t i = 0; i < store->changes.len; i++) {
		free(store->changes.v[i].path);
		free(store->changes.v[i].whole);
	}
	free(store->changes.v);
	store->changes.v = NULL;
	store->changes.len = store->changes.cap = 0;
}

size_t ephemeral_finish(struct ephemeral *store)
{
	size_t n;

	if (store->lock < 0)
		return 0;
	forget_changes(store);
	if (walk_store(store, NULL) < 0)
		return 1;	/* Whatever it is, it is not lost */
	n = store->changes.len;
	if (!n)
		(void)ephemeral_drop(store, NULL, NULL);
	return n;
}

int ephemeral_find(const struct policy *policy, struct ephemeral *ret,
	       struct err *err)
{
	struct ephemeral a = EPHEMERAL_NONE;
	int r;

	a.dir = ephemeral_dir(policy);
	r = a.dir ? lock_store(&a, false, err) : 0;
	if (r <= 0)
		ephemeral_done(&a);
	else
		*ret = a;
	return r;
}

int ephemeral_open(const struct policy *policy, struct ephemeral *ret,
	       struct err *err)
{
	struct ephemeral a = EPHEMERAL_NONE;
	int r = ephemeral_find(policy, &a, err);

	if (r <= 0)
		return r;
	r = read_roots(&a, err);
	if (r == 0)
		r = walk_store(&a, err);
	if (r < 0) {
		ephemeral_done(&a);
		return r;
	}
	*ret = a;
	return 1;
}

void ephemeral_done(struct ephemeral *store)
{
	forget_changes(store);
	restore_modes(store);
	strings_done(&store->roots);
	free(store->dir);
	fs_unlock(&store->lock);
	*store = EPHEMERAL_NONE;
}

enum { PATCH_FILE_MAX = 4 << 20 };	/* Larger files are not compared */

/**
 * struct content - A file as it is compared
 * @type:	S_IFMT of it; 0 if there is none
 * @text:	What a file holds, or where a link leads
 * @why:	Why there is no text, or NULL
 */
struct content {
	mode_t type;
	struct buf text;
	const char *why;
};

/* No link is followed and no pipe is waited for: a command of the sandbox made these */
static void read_content(int at, const char *name, struct content *ret)
{
	char target[PATH_MAX];
	auto_close int fd = -1;
	struct stat st;
	ssize_t n;
	int r;

	*ret = (struct content){ 0 };
	if (at == -1 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	ret->type = st.st_mode & S_IFMT;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(at, name, target, sizeof(target));
		buf_add(&ret->text, target, n > 0 ? (size_t)n : 0);
	}
	if (!S_ISREG(st.st_mode))
		return;
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	r = fd < 0 ? -errno : fs_read_fd(fd, PATCH_FILE_MAX, &ret->text, NULL);
	if (r == -EFBIG)
		ret->why = "too large to be compared";
	else if (r < 0)
		ret->why = "cannot be read";
	else if (ret->text.len && memchr(ret->text.p, 0, ret->text.len))
		ret->why = "binary";
}

static void read_staged(const struct ephemeral *store, const struct ephemeral_change *c,
			struct content *ret)
{
	const char *name = NULL;
	auto_close int at = c->kind == EPHEMERAL_DELETED ? -1 :
		ephemeral_open_staged(store, c, &name, NULL);

	read_content(at < 0 ? -1 : at, name, ret);
}

const char *ephemeral_compare(const struct ephemeral *store,
			      const struct ephemeral_change *change, struct buf *hunks)
{
	struct content old, new;
	const char *why;

	read_content(AT_FDCWD, change->path, &old);
	read_staged(store, change, &new);
	why = old.why ? old.why : new.why;
	if (!why && (!old.type || S_ISREG(old.type)) && (!new.type || S_ISREG(new.type)))
		text_diff(old.text.p, old.text.len, new.text.p, new.text.len, hunks);
	buf_done(&old.text);
	buf_done(&new.text);
	return why;
}
