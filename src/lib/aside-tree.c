/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/aside-tree.c - the trees of a store of changes: walked, copied, removed
 *
 * What is in a store was written by a command that is not trusted: it is read
 * without following a link, and written to the host beneath the root that it
 * belongs to, through no link either. Devices, sockets and pipes are not
 * applied, nor is a bit that lends somebody's rights.
 */

#include "lib/aside-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
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
#include "plan/view.h"

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

/**
 * struct below - What is asked of all that a directory of the host holds
 * @since:	Has it changed after that? Or NULL
 * @view:	May it be written? Or NULL
 */
struct below {
	const struct timespec *since;
	const struct view *view;
};

/* A directory goes with all that is in it: 0 if that may be, 1 if something has
 * changed, -EACCES if something is protected or cannot be looked at
 */
static int look_below(const struct below *b, int at, const char *name,
		      const char *path, unsigned int depth)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_free uint64_t *room = mem_zalloc(DIR_ROOM);
	struct dir dir = { .fd = fd, .room = (char *)room, .size = DIR_ROOM };
	struct dir_entry entry;
	int r = fd < 0 || depth > ASIDE_DEPTH_MAX ? -EACCES : 0;

	while (r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);
		struct stat st;

		if (fstatat(fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (b->since && is_after(&st.st_ctim, b->since))
			return 1;
		if (b->view && !view_verdict(b->view, VIEW_WRITE,
					     below).allowed)
			return -EACCES;
		if (S_ISDIR(st.st_mode))
			r = look_below(b, fd, entry.name, below, depth + 1);
	}
	return r;
}

static bool is_stale(const struct walker *w, const char *path,
		     const struct stat *host)
{
	const struct below b = { .since = &w->since };

	return host && (is_after(&host->st_ctim, &w->since) ||
			(S_ISDIR(host->st_mode) &&
			 look_below(&b, AT_FDCWD, path, path, 0) != 0));
}

static int tell(const struct walker *w, enum aside_kind kind,
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
		return there ? tell(w, ASIDE_DELETED, path, whole, &host) : 0;
	if (!S_ISDIR(st.st_mode) || !there || !S_ISDIR(host.st_mode))
		r = tell(w, there ? ASIDE_MODIFIED : ASIDE_ADDED, path, whole,
			 there ? &host : NULL);
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
	auto_free uint64_t *room = mem_zalloc(DIR_ROOM);
	struct dir dir = { .fd = fd, .room = (char *)room, .size = DIR_ROOM };
	struct dir_entry entry;
	int r = 0;

	while (fd >= 0 && r == 0 && dir_next(&dir, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);
		struct stat st, host;

		if (fstatat(upper, entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		    lstat(below, &host) == 0)
			r = tell(w, ASIDE_DELETED, below, whole, &host);
	}
	return r;
}

static int walk(const struct walker *w, int at, const char *name,
		const char *path, const char *whole, unsigned int depth)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_free uint64_t *room = mem_zalloc(DIR_ROOM);
	struct dir dir = { .fd = fd, .room = (char *)room, .size = DIR_ROOM };
	struct dir_entry entry;
	struct stat host;
	int r = 0;

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

/* The directory above @path on the host, reached beneath its root; @make what
 * is missing
 */
static int open_parent(const char *root, const char *path, struct err *err)
{
	auto_free char *parent = path_parent(path);
	const char *below = parent + strlen(root);
	auto_close int fd = sys_open_nofollow(AT_FDCWD, root,
					      O_RDONLY | O_DIRECTORY, 0);
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int at;

	if (fd < 0)
		return fail_errno(err, "'%s'", root);
	while (*below == '/')
		below++;
	at = *below ? sys_openat2(fd, below, &how) : take_fd(&fd);
	return at < 0 ? fail_errno(err, "'%s'", parent) : at;
}

static int open_upper(const struct aside *aside,
		      const struct aside_change *c, const char **name,
		      struct err *err)
{
	const char *root = aside->roots.v[c->root];
	auto_free char *parent = path_parent(c->path);
	auto_free char *dir = mem_printf("%u/u%s", c->root,
					 parent + strlen(root));
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const int fd = sys_openat2(aside->lock, dir, &how);

	*name = path_base(c->path);
	return fd < 0 ? fail_errno(err, "'%s' is not aside any more", c->path)
		      : fd;
}

/* The directory @name, so that what is in it can be removed. By descriptor: a
 * link that somebody puts in its place gets no mode from us.
 */
static int open_full(int at, const char *name)
{
	auto_close int held = openat(at, name, O_PATH | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
	char self[32];
	int fd;

	if (held < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held);
	(void)chmod(self, 0700);
	fd = open(self, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Remove @name and all below it, on one file system */
static int remove_all(int at, const char *name, unsigned int depth)
{
	auto_free uint64_t *room = NULL;
	auto_close int fd = -1;
	struct dir_entry entry;
	struct dir dir;
	int r = 0;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = open_full(at, name);
	if (fd < 0 || depth > ASIDE_DEPTH_MAX)
		return fd < 0 ? fd : -ELOOP;
	room = mem_zalloc(DIR_ROOM);
	dir = (struct dir){ .fd = fd, .room = (char *)room, .size = DIR_ROOM };
	while (r == 0 && dir_next(&dir, &entry) > 0) {
		r = remove_all(fd, entry.name, depth + 1);
		(void)lseek(fd, 0, SEEK_SET);
		dir.at = dir.len = 0;
	}
	return r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	return n < 0 ? -errno : 0;
}

/* Beside its place and then into it, so that nobody sees half of it */
static int copy_file(int from, const char *name, const struct stat *st,
		     int to)
{
	auto_close int in = openat(from, name, O_RDONLY | O_NOFOLLOW |
				   O_CLOEXEC | O_NONBLOCK);
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	auto_free char *beside = mem_printf(".%s.cloche", name);
	auto_close int out = -1;
	int r;

	if (in < 0)
		return -errno;
	(void)unlinkat(to, beside, 0);
	out = openat(to, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
		     O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = copy_bytes(in, out);
	if (r == 0 && (fchmod(out, st->st_mode & 0777) < 0 ||
		       futimens(out, times) < 0))
		r = -errno;
	if (r == 0 && renameat(to, beside, to, name) < 0 &&
	    (errno != EISDIR || remove_all(to, name, 0) < 0 ||
	     renameat(to, beside, to, name) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(to, beside, 0);
	return r;
}

static int copy_link(int from, const char *name, int to)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
	int r;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	r = remove_all(to, name, 0);
	return r == 0 && symlinkat(target, to, name) < 0 ? -errno : r;
}

static int put(int from, const char *name, int to)
{
	struct stat st, host;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return copy_file(from, name, &st, to);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to);
	if (!S_ISDIR(st.st_mode))
		return -ENOTSUP;
	if (fstatat(to, name, &host, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(host.st_mode) && unlinkat(to, name, 0) < 0)
		return -errno;
	return mkdirat(to, name, st.st_mode & 0777) < 0 && errno != EEXIST ?
	       -errno : 0;
}

static bool is_dir_at(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* Nothing protected goes with a directory that is removed or replaced */
static int check_below(const struct view *view, int to, const char *path,
		       struct err *err)
{
	const struct below b = { .view = view };
	const char *name = path_base(path);

	if (!is_dir_at(to, name) || look_below(&b, to, name, path, 0) == 0)
		return 0;
	return fail(err, -EACCES, "'%s' is not applied: the host's directory holds something protected",
		    path);
}

int aside_apply(const struct aside *aside, const struct aside_change *change,
		const struct view *view, bool force, struct err *err)
{
	const struct verdict v = view_verdict(view, VIEW_WRITE, change->path);
	auto_close int to = -1, from = -1;
	const char *name;
	int r;

	if (!v.allowed)
		return fail(err, -EACCES, "'%s' is not applied: %s",
			    change->path, v.reason);
	if (change->stale && !force)
		return fail(err, -ESTALE, "'%s' has changed since; --force overwrites it",
			    change->path);
	to = open_parent(aside->roots.v[change->root], change->path, err);
	if (to < 0)
		return to;
	if (change->kind != ASIDE_DELETED) {
		from = open_upper(aside, change, &name, err);
		if (from < 0)
			return from;
	}
	if (from < 0 || !is_dir_at(from, name)) {
		r = check_below(view, to, change->path, err);
		if (r < 0)
			return r;
	}
	r = from < 0 ? remove_all(to, path_base(change->path), 0) :
	    put(from, name, to);
	return r < 0 ? fail(err, r, "'%s' cannot be applied: %s", change->path,
			    r == -ENOTSUP ? "not a file, directory or link" :
			    strerror(-r)) : 0;
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
		at = open_upper(aside, &all, &name, NULL);
		if (at < 0)	/* It went with its directory */
			return 0;
		r = change->whole ? remove_all(at, name, 0) :
		    unlinkat(at, name, 0) == 0 ||
		    unlinkat(at, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOTEMPTY || errno == ENOENT ? 0 : -errno;
		return r < 0 ? fail(err, r, "'%s': %s", change->path,
				    strerror(-r)) : 0;
	}
	at = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = at < 0 ? -errno : remove_all(at, path_base(aside->dir), 0);
	if (r == 0)
		(void)rmdir(parent);
	return r < 0 ? fail(err, r, "'%s': %s", aside->dir, strerror(-r)) : 0;
}
