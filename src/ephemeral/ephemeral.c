/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside-tree.c - the trees of a store of changes: walked, removed */

#include "lib/aside-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "lib/aside.h"

/**
 * struct walker - One root's upper directory
 * @since:	When the store was made
 */
struct walker {
	struct aside *aside;
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

static int look_below(const struct aside_below *b, int at, const char *name,
		      const char *path, unsigned int depth)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	int r = fd < 0 || depth > ASIDE_DEPTH_MAX ? -EACCES : 0;

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

int aside_look_below(const struct aside_below *below, int at,
		     const char *name, const char *path)
{
	return look_below(below, at, name, path, 0);
}

static bool is_stale(const struct walker *w, const char *path,
		     const struct stat *host)
{
	const struct aside_below b = { .since = &w->since };

	return host && (is_after(&host->st_ctim, &w->since) ||
			(S_ISDIR(host->st_mode) &&
			 look_below(&b, AT_FDCWD, path, path, 0) != 0));
}

static int tell(const struct walker *w, enum aside_kind kind, mode_t mode,
		const char *path, const char *whole, const struct stat *host)
{
	struct aside_change *c;

	if (w->aside->changes.len == ASIDE_CHANGES_MAX)
		return fail(w->err, -E2BIG, "more than %d changes are kept aside",
			    ASIDE_CHANGES_MAX);
	c = vec_push(&w->aside->changes);
	c->kind = kind;
	c->path = mem_strdup(path);
	c->whole = whole ? mem_strdup(whole) : NULL;
	c->root = w->root;
	c->stale = is_stale(w, path, host);
	c->linked = kind == ASIDE_MODIFIED && S_ISREG(host->st_mode) &&
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
		return there ? tell(w, ASIDE_DELETED, 0, path, whole, &host)
			     : 0;
	if (!S_ISDIR(st.st_mode) || !there || !S_ISDIR(host.st_mode) ||
	    ((st.st_mode ^ host.st_mode) & 0777))
		r = tell(w, there ? ASIDE_MODIFIED : ASIDE_ADDED, st.st_mode,
			 path, whole, there ? &host : NULL);
	if (r < 0 || !S_ISDIR(st.st_mode))
		return r;
	return walk(w, at, name, path, whole, depth + 1);
}

/* Names of the host that an opaque directory hides */
static int tell_hidden(const struct walker *w, int upper, const char *path,
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
			r = tell(w, ASIDE_DELETED, 0, below, whole, &host);
	}
	return r;
}

/* The directory @name of a store, so that all that is in it can be looked at and
 * removed, whatever mode it was given. By descriptor: a link that somebody puts
 * in its place gets no mode from us. *@was is the mode that it had.
 */
static int open_full(int at, const char *name, mode_t *was)
{
	auto_close int held = openat(at, name, O_PATH | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int fd;

	if (held < 0 || fstat(held, &st) < 0)
		return -errno;
	*was = st.st_mode;
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fs_chmod(held, st.st_mode | S_IRWXU);
	fd = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Where the store has @path, which is in that root */
static char *upper_path(const struct aside *aside, unsigned int root,
			const char *path)
{
	return mem_printf("%u/u%s", root,
			  path + strlen(aside->roots.v[root]));
}

static int walk(const struct walker *w, int at, const char *name,
		const char *path, const char *whole, unsigned int depth)
{
	mode_t was = S_IRWXU;
	auto_close int fd = open_full(at, name, &was);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	struct stat host;
	int r = 0;

	if ((was & S_IRWXU) != S_IRWXU)
		*vec_push(&w->aside->opened) = (struct aside_mode){
			upper_path(w->aside, w->root, path), was,
		};
	if (fd < 0 || depth > ASIDE_DEPTH_MAX)
		return fail(w->err, -ELOOP, "'%s' cannot be looked at", path);
	if (is_opaque(fd) && lstat(path, &host) == 0) {
		whole = whole ? whole : path;
		r = tell_hidden(w, fd, path, whole);
	}
	while (r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);

		r = visit(w, fd, entry.name, below, whole, depth);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct aside_change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int aside_walk(struct aside *aside, struct err *err)
{
	struct walker w = { .aside = aside, .err = err };
	struct stat st;
	int r = 0;

	if (fstatat(aside->lock, "roots", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "'%s/roots'", aside->dir);
	w.since = st.st_mtim;
	for (size_t i = 0; r == 0 && i < aside->roots.len; i++) {
		char name[32];

		w.root = (unsigned int)i;
		snprintf(name, sizeof(name), "%zu/u", i);
		r = walk(&w, aside->lock, name, aside->roots.v[i], NULL, 0);
	}
	if (aside->changes.len)
		qsort(aside->changes.v, aside->changes.len,
		      sizeof(*aside->changes.v), compare);
	return r;
}

/* From the last, which may be in the one before */
void aside_close(struct aside *aside)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	for (size_t i = aside->opened.len; i-- > 0;) {
		const struct aside_mode *m = &aside->opened.v[i];
		auto_close int fd = sys_openat2(aside->lock, m->path, &how);

		if (fd >= 0)
			(void)fs_chmod(fd, m->mode);
		free(m->path);
	}
	free(aside->opened.v);
	aside->opened.v = NULL;
	aside->opened.len = aside->opened.cap = 0;
}

int aside_open_upper(const struct aside *aside, const struct aside_change *c,
		     const char **name, struct err *err)
{
	auto_free char *parent = path_parent(c->path);
	auto_free char *dir = upper_path(aside, c->root, parent);
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const int fd = sys_openat2(aside->lock, dir, &how);

	*name = path_base(c->path);
	return fd < 0 ? fail_errno(err, "'%s' is not aside any more", c->path)
		      : fd;
}

/* Too deep to be removed where it is: directly into @attic, a directory that is
 * being removed
 */
static int lift(int at, const char *name, int attic)
{
	char to[32];
	int r = -1;

	for (unsigned int i = 0; r < 0 && i < ASIDE_CHANGES_MAX; i++) {
		snprintf(to, sizeof(to), "deep-%u", i);
		r = renameat(at, name, attic, to);
		if (r < 0 && errno != EEXIST && errno != ENOTEMPTY)
			break;
	}
	return r < 0 ? -errno : 0;
}

/* @attic: for what is too deep, or -1 */
static int remove_all(int at, const char *name, unsigned int depth, int attic)
{
	auto_dir struct dir dir = dir_of(-1);
	auto_close int fd = -1;
	struct dir_entry entry;
	mode_t was;
	int r = 0;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = open_full(at, name, &was);
	if (fd < 0)
		return fd;
	if (depth > ASIDE_DEPTH_MAX)
		return attic < 0 ? -ELOOP : lift(at, name, attic);
	dir = dir_of(fd);
	/* Again until nothing is found: names may come in, or be passed over */
	for (bool found = true; r == 0 && found;) {
		found = false;
		(void)lseek(fd, 0, SEEK_SET);
		while (r == 0 && dir_next(&dir, &entry) > 0) {
			r = remove_all(fd, entry.name, depth + 1, attic);
			found = true;
		}
	}
	return r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

int aside_remove(int at, const char *name)
{
	return remove_all(at, name, 0, -1);
}

int aside_drop(struct aside *aside, const struct aside_change *change,
	       struct err *err)
{
	auto_free char *parent = path_parent(aside->dir);
	auto_close int at = -1;
	const char *name;
	int r;

	if (change) {
		struct aside_change all = *change;

		all.path = change->whole ? change->whole : change->path;
		at = aside_open_upper(aside, &all, &name, NULL);
		if (at < 0)	/* It went with its directory */
			return 0;
		r = change->whole ? aside_remove(at, name) :
		    unlinkat(at, name, 0) == 0 ||
		    unlinkat(at, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOTEMPTY || errno == ENOENT ? 0 : -errno;
		return r < 0 ? fail(err, r, "'%s': %s", change->path,
				    strerror(-r)) : 0;
	}
	at = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = at < 0 ? -errno : remove_all(at, path_base(aside->dir), 0,
				      aside->lock);
	if (r == 0)
		(void)rmdir(parent);
	return r < 0 ? fail(err, r, "'%s': %s", aside->dir, strerror(-r)) : 0;
}
