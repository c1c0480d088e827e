/* SPDX-License-Identifier: Apache-2.0 */
/* observe/notification.c - a notified call: its row in the table, flags, path arguments */

#include "observe/notification.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "base/sys.h"
#include "observe/cwd-cache.h"
#include "observe/tracee.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452	/* The same on every architecture */
#endif

#define CWD CALL_CWD
#define NO CALL_NO
#define ROW(name, what, dir, path, dir2, path2, flags) \
	{ SYS_##name, #name, CALL_##what, dir, path, dir2, path2, flags }

/* The calls that the observer understands; the filter chooses which of them are
 * notified (sandbox/filters.def). Numbers are arguments. dir: the descriptor of a
 * directory, CWD for the current directory, NO for none. Without a path, the call is
 * about the descriptor.
 */
static const struct call calls[] = {
	ROW(openat, OPEN, 0, 1, NO, NO, 2),
	ROW(openat2, OPEN_HOW, 0, 1, NO, NO, 2),
	ROW(mkdirat, MAKE, 0, 1, NO, NO, NO),
	ROW(mknodat, MAKE, 0, 1, NO, NO, NO),
	ROW(symlinkat, MAKE, 1, 2, NO, NO, NO),
	ROW(unlinkat, UNLINK, 0, 1, NO, NO, 2),
#ifdef SYS_renameat
	ROW(renameat, RENAME, 0, 1, 2, 3, NO),
#endif
	ROW(renameat2, RENAME, 0, 1, 2, 3, 4),
	ROW(linkat, LINK, 0, 1, 2, 3, 4),
	ROW(truncate, TRUNCATE, CWD, 0, NO, NO, NO),
	ROW(fchmod, SETATTR, 0, NO, NO, NO, NO),
	ROW(fchmodat, SETATTR, 0, 1, NO, NO, NO),
	ROW(fchmodat2, SETATTR, 0, 1, NO, NO, 3),
	ROW(fchown, SETATTR, 0, NO, NO, NO, NO),
	ROW(fchownat, SETATTR, 0, 1, NO, NO, 4),
	ROW(utimensat, SETATTR, 0, 1, NO, NO, 3),
	ROW(setxattr, SETATTR, CWD, 0, NO, NO, NO),
	ROW(lsetxattr, LSETATTR, CWD, 0, NO, NO, NO),
	ROW(fsetxattr, SETATTR, 0, NO, NO, NO, NO),
	ROW(removexattr, SETATTR, CWD, 0, NO, NO, NO),
	ROW(lremovexattr, LSETATTR, CWD, 0, NO, NO, NO),
	ROW(fremovexattr, SETATTR, 0, NO, NO, NO, NO),
	ROW(faccessat, ACCESS, 0, 1, NO, NO, NO),
	ROW(faccessat2, ACCESS, 0, 1, NO, NO, 3),
	ROW(chdir, CHDIR, NO, NO, NO, NO, NO),
	ROW(fchdir, CHDIR, NO, NO, NO, NO, NO),
	ROW(clone, UNSHARE, NO, NO, NO, NO, NO),
	ROW(unshare, UNSHARE, NO, NO, NO, NO, NO),
	ROW(setpgid, SETPGID, NO, NO, NO, NO, NO),
	ROW(connect, CONNECT, NO, 1, NO, NO, NO),
	ROW(bind, BIND, NO, 1, NO, NO, NO),
	ROW(listen, LISTEN, NO, NO, NO, NO, NO),
	ROW(socket, SOCKET, NO, NO, NO, NO, NO),
	ROW(socketpair, SOCKETPAIR, NO, NO, NO, NO, NO),
#ifdef SYS_open	/* Older than the *at() calls; newer architectures lack them */
	ROW(open, OPEN, CWD, 0, NO, NO, 1),
	ROW(creat, CREAT, CWD, 0, NO, NO, NO),
	ROW(mkdir, MAKE, CWD, 0, NO, NO, NO),
	ROW(mknod, MAKE, CWD, 0, NO, NO, NO),
	ROW(symlink, MAKE, CWD, 1, NO, NO, NO),
	ROW(unlink, UNLINK, CWD, 0, NO, NO, NO),
	ROW(rmdir, RMDIR, CWD, 0, NO, NO, NO),
	ROW(rename, RENAME, CWD, 0, CWD, 1, NO),
	ROW(link, LINK, CWD, 0, CWD, 1, NO),
	ROW(chmod, SETATTR, CWD, 0, NO, NO, NO),
	ROW(chown, SETATTR, CWD, 0, NO, NO, NO),
	ROW(lchown, LSETATTR, CWD, 0, NO, NO, NO),
	ROW(utime, SETATTR, CWD, 0, NO, NO, NO),
	ROW(utimes, SETATTR, CWD, 0, NO, NO, NO),
	ROW(futimesat, SETATTR, 0, 1, NO, NO, NO),
	ROW(access, ACCESS, CWD, 0, NO, NO, NO),
#endif
};

const struct call *call_find(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].nr == nr)
			return &calls[i];
	}
	return NULL;
}

/* The directory @fd as text, in @name; the same as for @first if it is that */
static ssize_t read_dir(const struct notification *q, int fd, struct name *name,
			const struct name *first)
{
	name->dir = fd;
	if (first && first->dir_len && first->dir == fd) {
		memcpy(name->full, first->full, first->dir_len);
		name->dir_len = first->dir_len;
		return (ssize_t)first->dir_len;
	}
	if (fd != AT_FDCWD) {
		const ssize_t n = tracee_fd_link(q->tracee, fd, name->full,
						 PATH_MAX);

		return n == -ENOENT ? -EBADF : n;	/* No such descriptor */
	}
	return q->cwds ? cwd_read(q->cwds, q->tracee, now_ms(CLOCK_MONOTONIC_COARSE), name->full,
				PATH_MAX) :
	       tracee_link(q->tracee, "cwd", name->full, PATH_MAX);
}

/* Read argument @path, relative to the directory in argument @dir. @first: the
 * call's other name, or NULL.
 */
static int read_name(const struct notification *q, int dir, int path,
		     struct name *name, const struct name *first)
{
	const unsigned long long *args = q->notif->data.args;
	const int fd = dir == CALL_CWD ? AT_FDCWD : (int)args[dir];
	const char *rest = name->text;
	ssize_t n = tracee_string(q->tracee, args[path], name->text,
				  sizeof(name->text));
	bool removed;
	size_t len;

	name->dir_len = 0;
	name->full[0] = 0;
	if (n < 0)
		name->text[0] = 0;
	if (n <= 0)
		return (int)n;
	if (name->text[0] == '/' && !q->in_root) {
		memcpy(name->full, name->text, (size_t)n + 1);
		return 0;
	}
	n = read_dir(q, fd, name, first);
	removed = n == -EIDRM;
	if (n < 0 && !removed)
		return (int)n;
	if (removed)
		n = (ssize_t)strlen(name->full);
	if (q->in_root)
		rest += strspn(rest, "/");
	len = q->in_root ? (size_t)n :
	      tracee_step_up(name->full, (size_t)n, &rest);
	if (removed && len == (size_t)n)
		return -ENOENT;
	name->dir_len = len == (size_t)n ? len : 0;
	if (len > 1)
		name->full[len++] = '/';
	memcpy(name->full + len, rest, strlen(rest) + 1);
	return 0;
}

/* True if the kernel refuses these flags of an open, whatever they are for */
static bool are_odd(uint64_t flags)
{
	const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;

	if (flags & O_PATH)
		return false;
	return nameless ? !(flags & O_ACCMODE) || (flags & O_CREAT)
			: (flags & O_CREAT) && (flags & O_DIRECTORY);
}

/* A link in the last place; what it is depends on the call */
static enum resolved_path_follow read_follow(const struct notification *q)
{
	bool follow = false;

	if (q->call->what == CALL_LSETATTR)
		return RESOLVED_PATH_SLASH;
	if (q->what == CALL_OPEN)
		follow = !(q->flags & O_NOFOLLOW) &&
			 (q->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	else if (q->what == CALL_SETATTR || q->what == CALL_TRUNCATE ||
		 q->what == CALL_ACCESS)
		follow = !(q->flags & AT_SYMLINK_NOFOLLOW);
	else if (q->what == CALL_LINK)
		follow = q->flags & AT_SYMLINK_FOLLOW;
	else
		return RESOLVED_PATH_STAY;
	return follow ? RESOLVED_PATH_FOLLOW : RESOLVED_PATH_SLASH;
}

/* Unify what open, openat, openat2 and creat say */
static int read_flags(struct notification *q)
{
	const unsigned long long *args = q->notif->data.args;
	struct open_how how = { 0 };
	int r;

	q->what = q->call->what;
	if (q->call->flags >= 0)
		q->flags = (uint32_t)args[q->call->flags];
	if (q->what == CALL_CREAT)
		q->flags = O_WRONLY | O_CREAT | O_TRUNC;
	if (q->what == CALL_OPEN_HOW) {
		r = tracee_read(q->tracee, args[2], &how, sizeof(how));
		if (r < 0)
			return r;
		q->flags = how.flags;
		q->how_mode = how.mode;
		q->in_root = how.resolve & RESOLVE_IN_ROOT;
	}
	if (q->what == CALL_CREAT || q->what == CALL_OPEN_HOW)
		q->what = CALL_OPEN;
	if (q->what == CALL_LSETATTR)
		q->what = CALL_SETATTR;
	q->follow = read_follow(q);
	return q->what == CALL_OPEN && are_odd(q->flags) ? -EINVAL : 0;
}

/* What is open as @fd, by the name that it has now */
static int read_open(const struct notification *q, int fd, struct name *name)
{
	const ssize_t n = tracee_fd_link(q->tracee, fd, name->full, PATH_MAX);

	if (n < 0)
		return (int)n;
	memcpy(name->text, name->full, (size_t)n + 1);
	name->dir_len = 0;
	return 0;
}

/* It changes what is open as argument @dir, if there is one */
static int read_changed(struct notification *q, int dir, struct name *name)
{
	q->quiet = true;
	q->follow = RESOLVED_PATH_STAY;
	return dir < 0 ? -EFAULT :
	       read_open(q, (int)q->notif->data.args[dir], name);
}

/* An empty path: with AT_EMPTY_PATH the call is about a descriptor */
static int read_nameless(struct notification *q, struct name *name)
{
	const int fd = q->call->dir < 0 ? -1 :
		       (int)q->notif->data.args[q->call->dir];
	int r;

	if (!(q->flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (q->what == CALL_SETATTR)
		return read_changed(q, q->call->dir, name);
	if (q->what != CALL_LINK)
		return -ENOENT;
	r = read_open(q, fd, name);
	q->open = !r;
	q->follow = RESOLVED_PATH_STAY;
	return r;
}

int notification_read(struct notification *q, bool reads, struct name names[2])
{
	const struct call *c = q->call;
	int r = q->tracee || c->what != CALL_OPEN_HOW ? read_flags(q) : -EPERM;

	q->two = c->path2 >= 0;
	q->link = c->what == CALL_MAKE && strstr(c->name, "symlink");
	q->dir = c->what == CALL_MAKE && strstr(c->name, "mkdir");
	q->reads = !r && q->what == CALL_OPEN &&
		   !(q->flags & (O_ACCMODE | O_CREAT | O_TRUNC)) &&
		   (q->flags & O_TMPFILE) != O_TMPFILE;
	if (r < 0 || (q->reads && !reads))
		return r;
	if (!q->tracee)		/* A shortage: what only reads goes on */
		return -EPERM;
	q->quiet = q->what == CALL_ACCESS;
	/* A descriptor's times; or the kernel misses the name, too */
	if (q->what == CALL_SETATTR &&
	    (c->path < 0 || !q->notif->data.args[c->path]))
		return read_changed(q, c->dir, &names[0]);
	r = read_name(q, c->dir, c->path, &names[0], NULL);
	if (!r && !names[0].text[0])
		r = read_nameless(q, &names[0]);
	/* It has no name yet: only the new one is looked at */
	if (q->what == CALL_LINK && r == -ENOTDIR) {
		q->what = CALL_MAKE;
		q->two = false;
		r = read_name(q, c->dir2, c->path2, &names[0], NULL);
	}
	if (!r && q->two)
		r = read_name(q, c->dir2, c->path2, &names[1], &names[0]);
	return !r && q->two && !names[1].text[0] ? -ENOENT : r;
}

bool notification_waits(const struct notification *q, int listener)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &q->notif->id) == 0;
}

/* Its flags are in a register, but for openat2() */
bool notification_makes(const struct notification *q)
{
	switch (q->what) {
	case CALL_OPEN:
		return (q->flags & (O_CREAT | O_TRUNC | O_ACCMODE)) ||
		       q->call->what == CALL_OPEN_HOW;
	case CALL_TRUNCATE:
	case CALL_MAKE:
	case CALL_RENAME:
	case CALL_LINK:
	case CALL_BIND:
		return true;
	default:
		return false;
	}
}
