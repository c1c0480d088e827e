/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/perform.c - a call made by the supervisor, for a root granted later
 *
 * Whose user we are, the command is, too; but it has no capabilities. So ours
 * are laid down meanwhile: what its permissions refuse, we must not do for it.
 * Its umask counts, not ours, and so does its limit on the size of files.
 */

#include "watch/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "watch/place.h"
#include "watch/tracee.h"

/* The directory of @place as the host has it, where it can be written; it must
 * be the one that was looked at
 */
static int open_parent(const struct place *place)
{
	auto_free char *path = *place->name ? path_parent(place->path)
					    : mem_strdup(place->path);
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_PATH |
					      O_DIRECTORY | O_CLOEXEC, 0);
	struct stat host, inside;

	if (fd < 0 || fstat(fd, &host) < 0 ||
	    fstat(place->parent, &inside) < 0)
		return -errno;
	if (host.st_dev != inside.st_dev || host.st_ino != inside.st_ino)
		return -EACCES;
	return take_fd(&fd);
}

static mode_t masked(const struct performance *p, uint64_t mode)
{
	mode_t mask = 0;

	tracee_process(p->tracee, &mask);
	return (mode_t)mode & 01777 & ~mask;
}

static mode_t mode_of(const struct performance *p, unsigned int arg)
{
	return masked(p, p->args[arg]);
}

/* The first argument after those that say what it is about */
static const unsigned long long *after_name(const struct performance *p)
{
	return p->args + (p->call->path < 0 ? 0 : p->call->path) + 1;
}

static int perform_open(const struct performance *p, int dir)
{
	const bool at = p->call->dir >= 0;
	const int flags = ((int)p->flags & ~(O_CLOEXEC | O_PATH)) | O_CLOEXEC |
			  O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	const mode_t mode = p->call->what == CALL_OPEN_HOW ?
		masked(p, p->how_mode) :
		mode_of(p, p->call->what == CALL_CREAT ? 1 : at ? 3 : 2);
	auto_close int fd = -1;
	struct stat st;

	fd = openat(dir, *p->from->name ? p->from->name : ".", flags, mode);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	if (!(p->flags & O_NONBLOCK) &&
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
		return -errno;
	return take_fd(&fd);
}

/* mkdir, mknod and symlink, with and without a directory */
static int perform_make(const struct performance *p, int dir)
{
	const unsigned int shift = p->call->dir >= 0;
	const char *name = p->from->name;
	char target[PATH_MAX];
	ssize_t n;
	int r;

	/* A file without a name: its descriptor is not ours to link */
	if (p->call->what == CALL_LINK)
		return -EXDEV;
	if (strstr(p->call->name, "symlink")) {
		n = tracee_string(p->tracee, p->args[0], target,
				  sizeof(target));
		if (n < 0)
			return (int)n;
		r = symlinkat(target, dir, name);
	} else if (strstr(p->call->name, "mkdir")) {
		r = mkdirat(dir, name, mode_of(p, 1 + shift));
	} else {
		const mode_t type = (mode_t)p->args[1 + shift] & S_IFMT;

		if (type && type != S_IFREG && type != S_IFIFO)
			return -EPERM;
		r = mknodat(dir, name, type | mode_of(p, 1 + shift), 0);
	}
	return r < 0 ? -errno : 0;
}

/* As the kernel would say it to the caller; but it gets no signal */
static bool is_too_large(const struct performance *p, uint64_t size)
{
	struct rlimit limit;

	return prlimit(p->tracee->tid, RLIMIT_FSIZE, NULL, &limit) < 0 ||
	       (limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur);
}

/* Inside there is one user and one group */
static int perform_chown(const struct performance *p, int dir,
			 const char *name)
{
	const uid_t uid = (uid_t)after_name(p)[0];
	const gid_t gid = (gid_t)after_name(p)[1];

	if ((uid != (uid_t)-1 && uid != geteuid()) ||
	    (gid != (gid_t)-1 && gid != getegid()))
		return -EINVAL;
	return fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno
								      : 0;
}

/* The times at @address: seconds alone, or with a fraction in units of @unit
 * nanoseconds
 */
static int read_times(const struct performance *p, uint64_t address, long unit,
		      struct timespec ret[2])
{
	const size_t step = unit ? 2 : 1;
	int64_t raw[4] = { 0 };
	const int r = tracee_read(p->tracee, address, raw,
				  2 * step * sizeof(*raw));

	for (size_t i = 0; i < 2 && !r; i++) {
		const int64_t part = unit ? raw[i * step + 1] : 0;

		/* A special value is one of nanoseconds alone */
		if (unit > 1 && (part < 0 || part >= 1000000))
			return -EINVAL;
		ret[i] = (struct timespec){ raw[i * step], part * unit };
	}
	return r;
}

static int perform_utime(const struct performance *p, int dir,
			 const char *name)
{
	const uint64_t address = *after_name(p);
	const long unit = !strcmp(p->call->name, "utime") ? 0 :
			  !strcmp(p->call->name, "utimensat") ? 1 : 1000;
	struct timespec times[2];
	int r = address ? read_times(p, address, unit, times) : 0;

	if (!r && utimensat(dir, name, address ? times : NULL,
			    AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}

static int perform_cut(const struct performance *p, int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	if (is_too_large(p, p->args[1]))
		return -EFBIG;
	return ftruncate(fd, (off_t)p->args[1]) < 0 ? -errno : 0;
}

/* No bit that lends somebody's rights; a directory's hands down its group */
static int perform_chmod(const struct performance *p, int dir,
			 const char *name)
{
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -EOPNOTSUPP;
	return fs_chmod(fd, (mode_t)*after_name(p) &
			(S_ISDIR(st.st_mode) ? 03777 : 01777)) < 0 ? -errno : 0;
}

/* The user's own; all others are the system's */
static int perform_xattr(const struct performance *p, int dir,
			 const char *name)
{
	const unsigned long long *args = after_name(p);
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[32], key[XATTR_NAME_MAX + 1];
	auto_free char *value = NULL;
	const ssize_t n = tracee_string(p->tracee, args[0], key, sizeof(key));
	int r = fd < 0 ? -errno : n < 0 ? (int)n : 0;

	if (r == -ENAMETOOLONG)
		r = -ERANGE;
	if (!r && strncmp(key, "user.", 5))
		r = -EOPNOTSUPP;
	if (r < 0)
		return r;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (strstr(p->call->name, "remove"))
		return removexattr(self, key) < 0 ? -errno : 0;
	if (args[2] > XATTR_SIZE_MAX)
		return -E2BIG;
	value = mem_zalloc(args[2] + 1);
	r = args[2] ? tracee_read(p->tracee, args[1], value, args[2]) : 0;
	if (!r && setxattr(self, key, value, args[2], (int)args[3]) < 0)
		r = -errno;
	return r;
}

static int perform_change(const struct performance *p, int dir)
{
	const char *name = *p->from->name ? p->from->name : ".";

	if (p->what == CALL_CUT)
		return perform_cut(p, dir, name);
	if (strstr(p->call->name, "chown"))
		return perform_chown(p, dir, name);
	if (strstr(p->call->name, "utime"))
		return perform_utime(p, dir, name);
	if (strstr(p->call->name, "xattr"))
		return perform_xattr(p, dir, name);
	return perform_chmod(p, dir, name);
}

/* Without capabilities, as inside: access() alone would look with those that an
 * ordinary program of root's could take up again
 */
static int perform_look(const struct performance *p, int dir)
{
	const char *name = *p->from->name ? p->from->name : ".";

	return faccessat(dir, name, (int)*after_name(p),
			 AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int perform_two(const struct performance *p, int dir)
{
	auto_close int to = open_parent(p->to);
	int r;

	if (to < 0)
		return to;
	if (p->what == CALL_LINK)
		r = linkat(dir, p->from->name, to, p->to->name, 0);
	else
		r = (int)syscall(SYS_renameat2, dir, p->from->name, to,
				 p->to->name, (unsigned int)p->flags);
	return r < 0 ? -errno : 0;
}

typedef struct __user_cap_data_struct caps[2];

static int set_caps(const caps data)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* 1 and *@before if there were any, 0 if there are none, or a negative errno */
static int lay_down_caps(caps before)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	caps none;
	int r;

	if (syscall(SYS_capget, &header, before) < 0)
		return -errno;
	if (!before[0].effective && !before[1].effective)
		return 0;
	memcpy(none, before, sizeof(none));
	none[0].effective = none[1].effective = 0;
	r = set_caps(none);
	return r < 0 ? r : 1;
}

static int perform_call(const struct performance *p)
{
	auto_close int dir = open_parent(p->from);
	int r = 0;

	if (dir < 0)
		return dir;
	switch (p->what) {
	case CALL_OPEN:
	case CALL_OPEN_HOW:
	case CALL_CREAT:
		return perform_open(p, dir);
	case CALL_MAKE:
		return perform_make(p, dir);
	case CALL_CUT:
	case CALL_CHANGE:
	case CALL_CHANGE_LINK:
		return perform_change(p, dir);
	case CALL_LOOK:
		return perform_look(p, dir);
	case CALL_RENAME:
	case CALL_LINK:
		return perform_two(p, dir);
	case CALL_UNLINK:
		r = unlinkat(dir, p->from->name, (int)p->flags & AT_REMOVEDIR);
		break;
	case CALL_RMDIR:
		r = unlinkat(dir, p->from->name, AT_REMOVEDIR);
		break;
	case CALL_TURN:
	case CALL_SPLIT:
	case CALL_CONNECT:
	case CALL_BIND:
	case CALL_LISTEN:
	case CALL_SOCKET:
	case CALL_PAIR:
		return -EACCES;
	}
	return r < 0 ? -errno : 0;
}

int perform(const struct performance *p)
{
	caps before;
	const int had = lay_down_caps(before);
	const mode_t mask = umask(0);
	const int r = had < 0 ? had : perform_call(p);

	umask(mask);
	/* Without them much else would fail, and safely */
	if (had > 0)
		(void)set_caps(before);
	return r;
}
