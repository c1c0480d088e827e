/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/emulate.c - a call made by the supervisor on the command's behalf
 *
 * The command runs as our user, but without capabilities. So ours are dropped
 * meanwhile: what its permissions refuse must not be done for it. Its umask and its
 * limit on the size of files apply, not ours.
 */

#include "observe/emulate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "observe/notification.h"
#include "observe/resolved-path.h"
#include "observe/tracee.h"

/* The directory of @place as the host has it, where it can be written; it must
 * be the one that was looked at
 */
static int open_parent(const struct resolved_path *place)
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

/* What stands at @place in @dir, O_PATH: it must be what was looked at */
static int open_target(const struct resolved_path *place, int dir)
{
	auto_close int fd = openat(dir, *place->name ? place->name : ".",
				   O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_ino == place->ino ? take_fd(&fd) : -EACCES;
}

static mode_t masked(const struct notification *q, uint64_t mode)
{
	mode_t mask = 0;

	tracee_process(q->tracee, &mask);
	return (mode_t)mode & 01777 & ~mask;
}

static mode_t mode_of(const struct notification *q, unsigned int arg)
{
	return masked(q, q->notif->data.args[arg]);
}

/* The first argument after those that say what it is about */
static const unsigned long long *after_name(const struct notification *q)
{
	return q->notif->data.args + (q->call->path < 0 ? 0 : q->call->path) + 1;
}

static int emulate_open(const struct notification *q, int dir)
{
	const bool at = q->call->dir >= 0;
	const bool nameless = (q->flags & O_TMPFILE) == O_TMPFILE;
	const int flags = ((int)q->flags & ~(O_PATH | O_TRUNC)) | O_CLOEXEC |
			  O_NOFOLLOW | O_NOCTTY | O_NONBLOCK |
			  (q->from->exists ? 0 : O_EXCL);
	const mode_t mode = q->call->what == CALL_OPEN_HOW ?
		masked(q, q->how_mode) :
		mode_of(q, q->call->what == CALL_CREAT ? 1 : at ? 3 : 2);
	auto_close int fd = -1;
	struct stat st;

	fd = openat(dir, *q->from->name ? q->from->name : ".", flags, mode);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) ||
	    (q->from->exists && !nameless && st.st_ino != q->from->ino))
		return -EACCES;
	if ((q->flags & O_TRUNC) && (q->flags & O_ACCMODE) != O_RDONLY &&
	    ftruncate(fd, 0) < 0)
		return -errno;
	if (!(q->flags & O_NONBLOCK) &&
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
		return -errno;
	return take_fd(&fd);
}

/* mkdir, mknod and symlink, with and without a directory */
static int emulate_make(const struct notification *q, int dir)
{
	const unsigned int shift = q->call->dir >= 0;
	const char *name = q->from->name;
	char target[PATH_MAX];
	ssize_t n;
	int r;

	/* A file without a name: its descriptor is not ours to link */
	if (q->call->what == CALL_LINK)
		return -EXDEV;
	if (strstr(q->call->name, "symlink")) {
		n = tracee_string(q->tracee, q->notif->data.args[0], target,
				  sizeof(target));
		if (n < 0)
			return (int)n;
		r = symlinkat(target, dir, name);
	} else if (strstr(q->call->name, "mkdir")) {
		r = mkdirat(dir, name, mode_of(q, 1 + shift));
	} else {
		const mode_t type = (mode_t)q->notif->data.args[1 + shift] & S_IFMT;

		if (type && type != S_IFREG && type != S_IFIFO)
			return -EPERM;
		r = mknodat(dir, name, type | mode_of(q, 1 + shift), 0);
	}
	return r < 0 ? -errno : 0;
}

/* In a user namespace with one user and one group others have no number */
static int emulate_chown(const struct notification *q, const char *self,
			 bool one_user)
{
	const uid_t uid = (uid_t)after_name(q)[0];
	const gid_t gid = (gid_t)after_name(q)[1];

	if (one_user && ((uid != (uid_t)-1 && uid != geteuid()) ||
			    (gid != (gid_t)-1 && gid != getegid())))
		return -EINVAL;
	return chown(self, uid, gid) < 0 ? -errno : 0;
}

/* The times at @address: seconds alone, or with a fraction in units of @unit
 * nanoseconds
 */
static int read_times(const struct notification *q, uint64_t address, long unit,
		      struct timespec ret[2])
{
	const size_t step = unit ? 2 : 1;
	int64_t raw[4] = { 0 };
	const int r = tracee_read(q->tracee, address, raw,
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

static int emulate_utime(const struct notification *q, const char *self)
{
	const uint64_t address = *after_name(q);
	const long unit = !strcmp(q->call->name, "utime") ? 0 :
			  !strcmp(q->call->name, "utimensat") ? 1 : 1000;
	struct timespec times[2];
	int r = address ? read_times(q, address, unit, times) : 0;

	if (!r && utimensat(AT_FDCWD, self, address ? times : NULL, 0) < 0)
		r = -errno;
	return r;
}

static int emulate_cut(const struct notification *q, const char *self)
{
	const uint64_t size = q->notif->data.args[1];
	auto_close int fd = S_ISREG(q->from->mode) ?
			    open(self, O_WRONLY | O_CLOEXEC) : -1;
	struct rlimit limit;

	if (fd < 0)
		return S_ISREG(q->from->mode) ? -errno : -EACCES;
	/* The limit of the caller, which gets no SIGXFSZ */
	if (prlimit(q->tracee->tid, RLIMIT_FSIZE, NULL, &limit) < 0 ||
	    (limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur))
		return -EFBIG;
	return ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

/* Clear setuid and setgid; keep setgid on directories, where it only sets the
 * group
 */
static int emulate_chmod(const struct notification *q, const char *self,
			 mode_t old)
{
	if (S_ISLNK(old))
		return -EOPNOTSUPP;
	return chmod(self, (mode_t)*after_name(q) &
		     (S_ISDIR(old) ? 03777 : 01777)) < 0 ? -errno : 0;
}

/* The user's own, and access lists, which say no more than modes; all others are
 * the system's
 */
static int emulate_xattr(const struct notification *q, const char *self)
{
	const unsigned long long *args = after_name(q);
	char key[XATTR_NAME_MAX + 1];
	auto_free char *value = NULL;
	const ssize_t n = tracee_string(q->tracee, args[0], key, sizeof(key));
	int r;

	if (n < 0)
		return n == -ENAMETOOLONG ? -ERANGE : (int)n;
	if (strncmp(key, "user.", 5) != 0 &&
	    strncmp(key, "system.posix_acl_", 17) != 0)
		return -EOPNOTSUPP;
	if (strstr(q->call->name, "remove"))
		return removexattr(self, key) < 0 ? -errno : 0;
	if (args[2] > XATTR_SIZE_MAX)
		return -E2BIG;
	value = mem_zalloc(args[2] + 1);
	r = args[2] ? tracee_read(q->tracee, args[1], value, args[2]) : 0;
	if (!r && setxattr(self, key, value, args[2], (int)args[3]) < 0)
		r = -errno;
	return r;
}

/* Of one file, open as @fd. Devices are the host's, even if the user may write to them. */
static int emulate_change(const struct notification *q, int fd, bool one_user)
{
	char self[32];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (q->what == CALL_SETATTR &&
	    (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return -EPERM;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	/* With the effective capabilities, which are none: access() itself would use the
	 * permitted ones
	 */
	if (q->what == CALL_ACCESS)
		return faccessat(AT_FDCWD, self, (int)*after_name(q), AT_EACCESS) < 0 ?
		       -errno : 0;
	if (q->what == CALL_TRUNCATE)
		return emulate_cut(q, self);
	if (strstr(q->call->name, "chown"))
		return emulate_chown(q, self, one_user);
	if (strstr(q->call->name, "utime"))
		return emulate_utime(q, self);
	if (strstr(q->call->name, "xattr"))
		return emulate_xattr(q, self);
	return emulate_chmod(q, self, st.st_mode);
}

static int emulate_two(const struct notification *q, int dir)
{
	auto_close int to = open_parent(q->to), from = -1;
	char self[32];
	int r;

	if (to < 0)
		return to;
	from = open_target(q->from, dir);
	if (from < 0)
		return from;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", from);
	if (q->what == CALL_LINK)
		r = linkat(AT_FDCWD, self, to, q->to->name, AT_SYMLINK_FOLLOW);
	else
		r = (int)syscall(SYS_renameat2, dir, q->from->name, to,
				 q->to->name, (unsigned int)q->flags |
				 (q->to->exists ? 0 : RENAME_NOREPLACE));
	return r < 0 ? -errno : 0;
}

static int emulate_call(const struct notification *q, int fd, bool one_user)
{
	auto_close int dir = -1, target = -1;
	int r = 0;

	if (fd >= 0)
		return emulate_change(q, fd, one_user);
	dir = open_parent(q->from);
	if (dir < 0)
		return dir;
	switch (q->what) {
	case CALL_OPEN:
		return emulate_open(q, dir);
	case CALL_MAKE:
		return emulate_make(q, dir);
	case CALL_TRUNCATE:
	case CALL_SETATTR:
	case CALL_ACCESS:
		target = open_target(q->from, dir);
		return target < 0 ? target : emulate_change(q, target, one_user);
	case CALL_RENAME:
	case CALL_LINK:
		return emulate_two(q, dir);
	case CALL_UNLINK:
		r = unlinkat(dir, q->from->name, (int)q->flags & AT_REMOVEDIR);
		break;
	case CALL_RMDIR:
		r = unlinkat(dir, q->from->name, AT_REMOVEDIR);
		break;
	default:
		return -EACCES;
	}
	return r < 0 ? -errno : 0;
}

/* Without them much else would fail, and safely, if they cannot be taken up again */
int caps_drop(struct sys_caps *before)
{
	struct sys_caps none;

	if (sys_capget(before) < 0)
		return -errno;
	none = *before;
	none.effective = 0;
	return before->effective && sys_capset(&none) < 0 ? -errno : 0;
}

void caps_restore(const struct sys_caps *before)
{
	if (before->effective)
		(void)sys_capset(before);
}

int emulate(const struct notification *q, int fd, bool one_user)
{
	struct sys_caps before;
	mode_t mask;
	int r = caps_drop(&before);

	if (r < 0)
		return r;
	mask = umask(0);
	r = emulate_call(q, fd, one_user);
	umask(mask);
	caps_restore(&before);
	return r;
}

bool emulate_may_read(const char *path)
{
	struct sys_caps before;
	bool may;

	if (caps_drop(&before) < 0)
		return false;
	may = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || errno != EACCES;
	caps_restore(&before);
	return may;
}
