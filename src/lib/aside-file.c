/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/aside-file.c - one file that was kept aside, written to the host
 *
 * What is a file's own comes along: bytes, holes, mode, times, the attributes
 * that its user may set and an access list. The overlay's own attributes do not,
 * nor bits that lend somebody's rights. Several names of a file stay one file,
 * if they are applied together.
 */

#include "lib/aside-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "lib/aside-tree.h"
#include "watch/copy.h"

#define BESIDE ".cloche-apply"	/* A file, until all of it is there */

enum { VALUE_MAX = 1 << 16, LIST_MAX = 1 << 16 };	/* The kernel's limits */

void aside_names_done(struct aside_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->v[i].path);
	free(names->v);
	*names = (struct aside_names){ 0 };
}

int aside_open_parent(const char *root, const char *path, struct err *err)
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

/* A file of the store, which may have been closed to its own user */
static int open_any(int from, const char *name, mode_t mode)
{
	auto_close int held = openat(from, name, O_PATH | O_NOFOLLOW |
				     O_CLOEXEC);
	int fd;

	if (held < 0)
		return -1;
	if (!(mode & S_IRUSR))
		(void)fs_chmod(held, mode | S_IRUSR);
	fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
		    O_NONBLOCK);
	if (!(mode & S_IRUSR))
		(void)fs_chmod(held, mode);
	return fd;
}

static bool is_carried(const char *attribute)
{
	static const char overlay[] = "user.overlay.";

	return (!strncmp(attribute, "user.", 5) &&
		strncmp(attribute, overlay, strlen(overlay)) != 0) ||
	       !strcmp(attribute, "system.posix_acl_access");
}

/* 0, or the first failure; where there are no attributes, none are missing */
static int copy_attributes(int in, int out)
{
	auto_free char *list = mem_alloc(LIST_MAX);
	auto_free char *value = mem_alloc(VALUE_MAX);
	const ssize_t n = flistxattr(in, list, LIST_MAX);

	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *p = list; p < list + n; p += strlen(p) + 1) {
		ssize_t size;

		if (!is_carried(p))
			continue;
		size = fgetxattr(in, p, value, VALUE_MAX);
		if (size < 0 || fsetxattr(out, p, value, (size_t)size, 0) < 0)
			return -errno;
	}
	return 0;
}

void aside_put_attributes(int from, int to, const char *name)
{
	auto_close int in = openat(from, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_close int out = openat(to, name, O_RDONLY | O_DIRECTORY |
				    O_NOFOLLOW | O_CLOEXEC);

	if (in >= 0 && out >= 0)
		(void)copy_attributes(in, out);
}

/* An access list last: with it, the group's bits say something else */
static int fill(int in, int out, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	uint64_t all = UINT64_MAX;
	int r = copy_data(in, out, &all);

	if (r == 0 && fchmod(out, st->st_mode & 0777) < 0)
		r = -errno;
	if (r == 0)
		r = copy_attributes(in, out);
	if (r == 0 && futimens(out, times) < 0)
		r = -errno;
	return r;
}

/* What is beside it, into its place */
static int move_in(int to, const char *name)
{
	int r = 0;

	if (renameat(to, BESIDE, to, name) < 0 &&
	    (errno != EISDIR || aside_remove(to, name) < 0 ||
	     renameat(to, BESIDE, to, name) < 0))
		r = -errno;
	/* Also when both are one file: then nothing was moved */
	(void)unlinkat(to, BESIDE, 0);
	return r;
}

static int copy_file(int from, const char *name, const struct stat *st,
		     int to)
{
	auto_close int in = open_any(from, name, st->st_mode);
	auto_close int out = -1;
	int r;

	if (in < 0)
		return -errno;
	(void)unlinkat(to, BESIDE, 0);
	out = openat(to, BESIDE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
		     O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = fill(in, out, st);
	if (r < 0)
		(void)unlinkat(to, BESIDE, 0);
	return r < 0 ? r : move_in(to, name);
}

static const struct aside_name *find(const struct aside_names *names,
				     const struct stat *st)
{
	for (size_t i = 0; i < names->len; i++) {
		if (names->v[i].ino == st->st_ino &&
		    names->v[i].dev == st->st_dev)
			return &names->v[i];
	}
	return NULL;
}

/* True if it is another name now of what was put before, and is still there */
static bool link_to(const struct aside_name *first, int to, const char *name)
{
	auto_close int at = aside_open_parent(first->root, first->path, NULL);
	struct stat st;

	(void)unlinkat(to, BESIDE, 0);
	if (at < 0 || linkat(at, path_base(first->path), to, BESIDE, 0) < 0)
		return false;
	if (fstatat(to, BESIDE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_dev != first->host_dev || st.st_ino != first->host_ino) {
		(void)unlinkat(to, BESIDE, 0);
		return false;
	}
	return move_in(to, name) == 0;
}

static void remember(struct aside_names *names, const char *root,
		     const char *path, const struct stat *st, int to)
{
	struct stat host;

	if (names->len < ASIDE_NAMES_MAX &&
	    fstatat(to, path_base(path), &host, AT_SYMLINK_NOFOLLOW) == 0)
		*vec_push(names) = (struct aside_name){
			st->st_dev, st->st_ino, root, mem_strdup(path),
			host.st_dev, host.st_ino,
		};
}

int aside_put_file(struct aside_names *names, const char *root,
		   const char *path, int from, const struct stat *st, int to)
{
	const char *name = path_base(path);
	const struct aside_name *first = st->st_nlink > 1 ?
					 find(names, st) : NULL;
	int r;

	if (first && link_to(first, to, name))
		return 0;
	r = copy_file(from, name, st, to);
	if (r == 0 && st->st_nlink > 1 && !first)
		remember(names, root, path, st, to);
	return r;
}
