/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/resolved-path.c - where a path leads, as the kernel would see it from inside
 *
 * Theory of operation: openat2() with RESOLVE_IN_ROOT walks the directories
 * in the process's own root, so its mounts and links count, not ours. It walks
 * no magic links (/proc/self/fd/3), and "self" would be us; those are replaced
 * by where they lead before the walk. A link may lead there as well: when the
 * walk fails, its first link is replaced by hand and the walk starts again.
 * The last component is examined by itself. Where a FUSE mask refuses us, the
 * walk continues from a descriptor (mask-fds.c).
 *
 * What is left of /proc is either a file of a process's own (-ENOTNAM, -ETXTBSY), or
 * the magic link of another process, which is not followed (-EPERM). A path that leads
 * into a procfs by any other spelling than /proc/... is -EPERM as well, and so is
 * -EXDEV of openat2(), which is a magic link that was not replaced: errors that
 * the caller refuses.
 */

#include "observe/resolved-path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "observe/mask-fds.h"
#include "observe/tracee.h"

/* "@dir/@rest" into a buffer of PATH_MAX, which may be @dir: 0 or -errno */
static int join(char *ret, const char *dir, const char *rest)
{
	char whole[2 * PATH_MAX];
	const int n = snprintf(whole, sizeof(whole), "%s%s%s", dir,
			       *rest == '/' || !*rest ? "" : "/", rest);

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret, whole, (size_t)n + 1);
	return 0;
}

/* Remove "//" and "/./"; what ".." means depends on links */
static void squeeze(char *path)
{
	char *to = path;

	for (const char *p = path; *p;) {
		if (p[0] == '/' && (p[1] == '/' ||
				    (p[1] == '.' && p[2] == '/')))
			p += p[1] == '/' ? 1 : 2;
		else
			*to++ = *p++;
	}
	*to = 0;
}

/* The rest of @path after the component @name, or NULL if it does not start
 * so; a rest starts with "/" or is empty
 */
static const char *after(const char *path, const char *name)
{
	const size_t n = strlen(name);

	while (*path == '/')
		path++;
	return !strncmp(path, name, n) && (path[n] == '/' || !path[n]) ?
	       path + n : NULL;
}

/* "fd/7/x" of a process: read its link 7. The rest, or NULL. */
static const char *follow_fd(struct tracee *t, const char *path, char *target,
			     ssize_t *n)
{
	const char *rest = after(path, "fd");
	char number[16];
	uint64_t fd;
	size_t len;

	if (!rest)
		return NULL;
	rest += strspn(rest, "/");
	len = strcspn(rest, "/");
	if (len >= sizeof(number))
		return NULL;
	memcpy(number, rest, len);
	number[len] = 0;
	if (text_to_u64(number, INT_MAX, &fd) < 0)
		return NULL;
	*n = tracee_fd_link(t, (int)fd, target, PATH_MAX);
	return rest + len;
}

/* The rest of @path after "/proc/PROCESS"; *@own if that is the caller */
static const char *after_process(const char *path, bool *own)
{
	const char *below = after(path, "proc"), *rest;
	size_t n;

	if (!below)
		return NULL;
	rest = after(below, "self");
	if (!rest)
		rest = after(below, "thread-self");
	*own = rest;
	if (rest)
		return rest;
	below += strspn(below, "/");
	n = strspn(below, "0123456789");
	return n && (below[n] == '/' || !below[n]) ? below + n : NULL;
}

/* What is @rest of /proc/PROCESS/...? -EPERM if it goes through a link that leads
 * elsewhere, or up, and so perhaps out of /proc; -ETXTBSY for the program itself, which
 * the kernel lets no process write to; -ENOTNAM for a file or directory of the process
 */
static int classify(const char *rest)
{
	static const char *const links[] = {
		"root", "cwd", "fd", "exe", "map_files", "..",
	};

	for (; *rest; rest += strcspn(rest, "/")) {
		const char *below;

		rest += strspn(rest, "/");
		for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
			below = after(rest, links[i]);
			if (below && !*below && !strcmp(links[i], "exe"))
				return -ETXTBSY;
			/* The list of links, not one of them */
			if (below && !*below && (!strcmp(links[i], "fd") ||
						 !strcmp(links[i], "map_files")))
				return -ENOTNAM;
			if (below)
				return -EPERM;
		}
	}
	return -ENOTNAM;
}

/* tracee_link() returned @error for a magic link that reads @target. A removed
 * directory (-EIDRM) has nothing in it, but ".." is still the one that it was in:
 * @path becomes that, with what follows.
 */
static int leave_nameless(int error, char *target, const char *rest, char *path)
{
	const size_t n = strlen(target);
	size_t up;

	rest += strspn(rest, "/");
	if (!*rest && (error == -EIDRM || error == -ENOTDIR))
		return -ENOTNAM;
	if (error != -EIDRM)
		return error;
	up = tracee_step_up(target, n, &rest);
	if (up == n)
		return -ENOENT;
	target[up] = 0;
	return join(path, up > 1 ? target : "", rest) < 0 ? -ENAMETOOLONG : 1;
}

/* follow_magic() for the thread that is meant */
static int follow_own(struct tracee *t, char *path)
{
	static const char *const links[] = { "root", "cwd" };
	const char *below, *rest = NULL;
	char target[PATH_MAX];
	bool own = false, whole;
	ssize_t n = 0;

	below = after_process(path, &own);
	if (!below)
		return 0;
	for (size_t i = 0; own && i < ARRAY_SIZE(links) && !rest; i++) {
		rest = after(below, links[i]);
		if (rest)
			n = tracee_link(t, links[i], target, sizeof(target));
	}
	if (own && !rest)
		rest = follow_fd(t, below, target, &n);
	if (!rest)
		return classify(below);
	if (n < 0)
		return leave_nameless((int)n, target, rest, path);
	whole = !rest[strspn(rest, "/")];
	n = join(path, strcmp(target, "/") ? target : "", rest);
	return n < 0 ? (int)n : whole ? 2 : 1;
}

/* Replace a leading /proc/self/{root,cwd,fd/N}: 1 if so, 2 if that is all of
 * @path, 0 if @path does not lead to a process, or a negative errno as
 * resolved_path_find(). "self" is the first thread, which may have other files and another
 * directory.
 */
static int follow_magic(struct tracee *t, char *path)
{
	const char *below = after(path, "proc");
	struct tracee first = { .dir = -1 };
	int r = 0;

	if (!below || !after(below, "self"))
		return follow_own(t, path);
	if (tracee_first(t, &first) < 0)
		r = -EPERM;
	else
		r = follow_own(&first, path);
	close_fd(&first.dir);
	return r;
}

/* Cut off the last component of @path. Where it was; "" if there is none. */
static const char *split(char *path, bool *ends_in_slash, char name[NAME_MAX + 1])
{
	size_t n = strlen(path), start;

	*ends_in_slash = n > 1 && path[n - 1] == '/';
	while (n > 1 && path[n - 1] == '/')
		path[--n] = 0;
	start = n;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (n - start > NAME_MAX)
		return NULL;
	memcpy(name, path + start, n - start + 1);
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		*name = 0;	/* A directory, whichever it is */
		return name;
	}
	path[start > 1 ? start - 1 : start] = 0;
	return name;
}

/* The real path of the directory @fd, then "/@name" */
static int name_place(int fd, const char *name, struct resolved_path *p)
{
	char dir[PATH_MAX];
	struct statfs fs;
	int r = fs_fd_link(fd, dir, sizeof(dir));

	if (r < 0)
		return r;
	p->proc = !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
	r = join(p->path, strcmp(dir, "/") || !*name ? dir : "", name);
	p->name = *name && !r ? p->path + strlen(p->path) - strlen(name) : "";
	return r;
}

/* What stands there, and on which mounts */
static int look(int fd, const char *name, struct resolved_path *p)
{
	const unsigned int mask = STATX_TYPE | STATX_MODE | STATX_INO |
				  STATX_MNT_ID;
	auto_close int target = -1;
	struct statvfs vfs;
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &x) < 0)
		return -errno;
	p->mount = x.stx_mnt_id;
	p->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	p->exists = true;
	if (*name) {
		target = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (target < 0 && errno != ENOENT)
			return -errno;
		p->exists = target >= 0;
		if (p->exists && statx(target, "", AT_EMPTY_PATH |
				       AT_STATX_DONT_SYNC, mask, &x) < 0)
			return -errno;
	}
	p->mode = x.stx_mode;
	p->ino = x.stx_ino;
	p->mount_root = p->exists && *name &&
			(x.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	if (fstatvfs(target >= 0 ? target : fd, &vfs) < 0)
		return -errno;
	p->read_only = vfs.f_flag & ST_RDONLY;
	if (p->mount_root && fstatvfs(fd, &vfs) < 0)
		return -errno;
	p->closed = p->mount_root && (vfs.f_flag & ST_RDONLY);
	return 0;
}

/* A link stands in the last place: @path becomes where it leads */
static int follow_link(int fd, const struct resolved_path *p, char *path)
{
	char target[PATH_MAX], dir[PATH_MAX];
	const ssize_t n = readlinkat(fd, p->name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = 0;
	if (target[0] == '/') {
		memcpy(path, target, (size_t)n + 1);
		return 0;
	}
	memcpy(dir, p->path, (size_t)(p->name - p->path));
	dir[p->name - p->path] = 0;
	return join(path, dir, target);
}

/* The first @n bytes of @path end in "/..", and it may not be walked: 1 and @path
 * without that, else @error
 */
static int step_up(const struct mask_fds *mask_fds, int root, char *path, size_t n,
		   int error)
{
	char rest[PATH_MAX];
	auto_free char *above = NULL;
	struct resolved_path p = { .parent = -1 };
	auto_close int fd = -1;

	memcpy(rest, path + n, strlen(path + n) + 1);
	n -= strlen("/..");
	memcpy(p.path, path, n);
	p.path[n] = 0;
	if (mask_fds_length(mask_fds, p.path) < n) {
		fd = mask_fds_open(mask_fds, root, p.path, 0);
		if (fd < 0 || name_place(fd, "", &p) < 0)
			return error;
	}
	above = path_parent(p.path);
	return join(path, strcmp(above, "/") ? above : "", rest) < 0 ? error : 1;
}

/* The walk to the directory @path failed: replace its first symbolic link by
 * where that leads; or, if it may not be walked, go up by hand. 1 if @path is
 * another one now, else @error.
 */
static int expand(const struct mask_fds *mask_fds, int root, char *path, int error)
{
	char prefix[PATH_MAX], name[NAME_MAX + 1], rest[PATH_MAX];
	const char *end = path + mask_fds_length(mask_fds, path);

	while (*end) {
		struct resolved_path p = { .parent = -1 };
		auto_close int fd = -1;
		bool slash, own;
		int r;

		end += strspn(end, "/");
		end += strcspn(end, "/");
		memcpy(prefix, path, (size_t)(end - path));
		prefix[end - path] = 0;
		if (error == -EACCES && end - path >= 3 && !memcmp(end - 3, "/..", 3))
			return step_up(mask_fds, root, path, (size_t)(end - path),
				       error);
		if (!split(prefix, &slash, name) || !*name)
			continue;
		fd = mask_fds_open(mask_fds, root, prefix, 0);
		if (fd < 0 || name_place(fd, name, &p) < 0 ||
		    look(fd, name, &p) < 0 || !p.exists)
			return error;
		if (!S_ISLNK(p.mode))
			continue;
		memcpy(rest, end, strlen(end) + 1);
		/* follow_magic() resolves the links of a process */
		if (p.proc && after_process(p.path, &own))
			return join(path, p.path, rest) < 0 ? error : 1;
		if (p.proc && !after(p.path, "proc"))
			return -EPERM;
		r = follow_link(fd, &p, path);
		if (r < 0)
			return r;
		r = join(path, path, rest);
		return r < 0 ? r : 1;
	}
	return error;
}

/* One walk: 0 done, 1 if @path was changed to where a link leads, or a
 * negative errno
 */
static int walk(const struct mask_fds *mask_fds, int root, char *path,
		enum resolved_path_follow follow, struct resolved_path *p)
{
	char whole[PATH_MAX], name[NAME_MAX + 1];
	bool slash;
	auto_close int fd = -1;
	int r;

	memcpy(whole, path, strlen(path) + 1);
	if (!split(path, &slash, name))
		return -ENAMETOOLONG;
	fd = mask_fds_open(mask_fds, root, path, 0);
	r = fd < 0 ? fd : name_place(fd, name, p);
	/* A link into /proc may have led to our "self" instead of theirs */
	if (fd >= 0 && !r && p->proc && strcmp(p->path, whole) != 0)
		r = -EPERM;
	if (r < 0) {
		memcpy(path, whole, strlen(whole) + 1);
		return expand(mask_fds, root, path, r);
	}
	r = look(fd, name, p);
	if (r < 0) {
		memcpy(path, whole, strlen(whole) + 1);
		return r;
	}
	p->slash |= slash;
	if (p->exists && S_ISLNK(p->mode) &&
	    (follow == RESOLVED_PATH_FOLLOW || (follow == RESOLVED_PATH_SLASH && slash))) {
		r = follow_link(fd, p, path);
		return r < 0 ? r : 1;
	}
	p->parent = take_fd(&fd);
	return 0;
}

int resolved_path_find(struct tracee *tracee, int root, const char *base,
	       const char *text, enum resolved_path_follow follow, struct resolved_path *ret)
{
	auto_close int own = root < 0 ? tracee_root(tracee) : -1;
	const int start = root < 0 ? own : root;
	char path[PATH_MAX];
	int r;

	if (start < 0)
		return start;
	if (!*text)
		return -ENOENT;
	r = join(path, *text == '/' ? "" : base, text);
	if (r < 0)
		return r;
	*ret = (struct resolved_path) { .parent = -1 };
	for (int links = 0; links <= RESOLVED_PATH_LINKS_MAX; links++) {
		squeeze(path);
		r = root < 0 ? follow_magic(tracee, path) : 0;
		if (r < 0)
			return r;
		/* What is open may be a link: then the link itself is meant */
		if (r == 2)
			follow = RESOLVED_PATH_STAY;
		r = walk(root < 0 ? tracee->mask_fds : NULL, start, path, follow,
			 ret);
		if (r == -EACCES) {	/* The text has the targets of the links so far */
			auto_free char *whole = path_resolve("/", path);

			snprintf(ret->path, sizeof(ret->path), "%s", whole);
		}
		/* Our "self" instead of theirs */
		if (r >= 0 && root >= 0 && ret->proc)
			return -EPERM;
		if (r <= 0)
			return r;
	}
	return -ELOOP;
}

void resolved_path_done(struct resolved_path *place)
{
	close_fd(&place->parent);
}

int resolved_path_writable(const struct resolved_path *place)
{
	if (!faccessat(place->parent, *place->name ? place->name : ".", W_OK,
		       AT_EACCESS))
		return 0;
	return errno == EROFS ? -EROFS : -EACCES;
}
