/* SPDX-License-Identifier: Apache-2.0 */
/* observe/git-lock.c - undo a git command that could update only a part of a work tree */

#include "observe/git-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "observe/emulate.h"
#include "observe/notification.h"

/**
 * struct git_change - A change that git made
 * @path:	In the root of git
 * @link:	Where a symbolic link led
 * @st:		Of what was there; st_mode is 0 if nothing was
 * @at:		Where its content is in the memfd
 * @done:	It was undone
 */
struct git_change {
	char *path, *link;
	struct stat st;
	off_t at;
	bool done;
};

static bool is_in_git(const char *path)
{
	return strstr(path, "/.git/") || !strncmp(path, ".git/", 5);
}

static bool is_git(pid_t pid)
{
	char link[32], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	return !strcmp(path_base(exe), "git");
}

/* Through no link, so that the tracee cannot lead the supervisor elsewhere; and
 * through the mounts of the tracee, which hold for the supervisor too
 */
static int open_in(const struct git_lock *lock, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};

	return sys_openat2(lock->root, path, &how);
}

static void drop_changes(struct git_lock *lock)
{
	for (size_t i = 0; i < lock->changes.len; i++) {
		free(lock->changes.v[i].path);
		free(lock->changes.v[i].link);
	}
	free(lock->changes.v);
	lock->changes.v = NULL;
	lock->changes.len = lock->changes.cap = lock->names = 0;
	lock->bytes = 0;
	close_fd(&lock->old);
}

static void forget(struct git_lock *lock)
{
	drop_changes(lock);
	free(lock->index);
	lock->index = NULL;
	lock->pid = 0;
	lock->refused = lock->partial = lock->at_once = false;
	close_fd(&lock->process);
	close_fd(&lock->root);
}

void git_locks_init(struct git_locks *locks)
{
	*locks = (struct git_locks) { .mutex = PTHREAD_MUTEX_INITIALIZER };
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++)
		locks->v[i].process = locks->v[i].root = locks->v[i].old = -1;
}

void git_locks_done(struct git_locks *locks)
{
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++)
		forget(&locks->v[i]);
	pthread_mutex_destroy(&locks->mutex);
}

/* That of @pid, or with 0 one that is free */
static struct git_lock *find(struct git_locks *locks, pid_t pid)
{
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++) {
		if (locks->v[i].pid == pid)
			return &locks->v[i];
	}
	return NULL;
}

/* These take no lock, and go on when they cannot remove a file */
static bool is_unlocked(pid_t pid)
{
	static const char deinit[] = "\0deinit", tree[] = "\0worktree\0remove";
	char name[32], words[256];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = read(fd, words, sizeof(words));
	return n > 0 && (memmem(words, (size_t)n, deinit, sizeof(deinit)) ||
			 memmem(words, (size_t)n, tree, sizeof(tree)));
}

/* What gits have recorded that were killed, and gave up no lock */
static void forget_ended(struct git_locks *locks)
{
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++) {
		if (locks->v[i].pid &&
		    pidfd_send_signal(locks->v[i].process, 0, NULL, 0) < 0)
			forget(&locks->v[i]);
	}
}

/* @path: of the lock of its index, or NULL */
static void take(struct git_locks *locks, pid_t pid, const char *path)
{
	struct git_lock *lock;

	forget_ended(locks);
	lock = find(locks, pid);
	lock = lock ? lock : find(locks, 0);
	if (!lock)
		lock = &locks->v[locks->next++ % GIT_LOCKS_MAX];
	forget(lock);
	lock->index = path ? mem_strndup(path, strlen(path) - strlen(".lock")) : NULL;
	lock->at_once = !path;
	lock->process = pidfd_open(pid, 0);
	lock->pid = pid;
}

static void see(struct git_locks *locks, pid_t pid)
{
	if (locks->seen != pid && is_git(pid) && is_unlocked(pid))
		take(locks, pid, NULL);
	locks->seen = pid;
}

/* That of @pid, which changes a file of its work tree: most locks are of gits that
 * change none, and this is left until then. Without an index there was no tree before:
 * a clone, a new work tree.
 */
static struct git_lock *find_begun(struct git_locks *locks, pid_t pid)
{
	struct git_lock *lock = find(locks, pid);
	auto_close int index = -1;
	char root[32];

	if (!lock || lock->root >= 0)
		return lock;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	lock->root = is_git(pid) ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (lock->root >= 0 && lock->index)
		index = open_in(lock, lock->index, O_PATH);
	if (lock->root >= 0 && (!lock->index || index >= 0))
		return lock;
	forget(lock);
	return NULL;
}

static int keep_link(const struct git_lock *lock, struct git_change *c)
{
	auto_close int fd = open_in(lock, c->path, O_PATH);
	char text[PATH_MAX];
	const ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	c->link = mem_strdup(text);
	return 0;
}

/* @room: bytes that may be kept */
static int keep_content(struct git_lock *lock, struct git_change *c, int fd, off_t room)
{
	off_t left = c->st.st_size;

	if (lock->old < 0)
		lock->old = memfd_create("git-lock", MFD_CLOEXEC);
	c->at = lock->bytes;
	if (lock->old < 0 || left > room)
		return -ENOSPC;
	(void)lseek(lock->old, c->at, SEEK_SET);	/* One that shrank left a part */
	while (left > 0) {
		const ssize_t n = sendfile(lock->old, fd, NULL, (size_t)left);

		if (n <= 0) {
			const int error = n ? -errno : -EIO;

			(void)!ftruncate(lock->old, c->at);
			return error;
		}
		left -= n;
	}
	lock->bytes += c->st.st_size;
	return 0;
}

/* What is at @c->path, which the call will remove or create */
static int keep(struct git_lock *lock, const struct notification *q,
		struct git_change *c, off_t room)
{
	const bool removes = q->what == CALL_UNLINK || q->what == CALL_RMDIR;
	auto_close int fd = open_in(lock, c->path,
				    removes ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH);

	if (fd < 0 && errno == ENOENT)
		return removes ? -EEXIST : 0;	/* The kernel says so, too */
	if (fd < 0 && (errno != ELOOP || !removes))
		return -errno;
	if (fd < 0) {
		c->st.st_mode = S_IFLNK;
		return keep_link(lock, c);
	}
	if (!removes)	/* Then only an exclusive call leaves it as it is */
		return q->what == CALL_MAKE || q->flags & O_EXCL ? -EEXIST : -EPERM;
	if (fstat(fd, &c->st) < 0)
		return -errno;
	if (S_ISDIR(c->st.st_mode))
		return 0;
	return S_ISREG(c->st.st_mode) ? keep_content(lock, c, fd, room) : -EPERM;
}

/* The limits hold for all locks together: a command can have as many gits as it likes */
static int record(struct git_locks *locks, struct git_lock *lock,
		  const struct notification *q, const char *path)
{
	const size_t len = strlen(path) + 1;
	size_t changes = 0, names = 0;
	struct git_change c = { 0 };
	struct sys_caps caps;
	off_t bytes = 0;
	int r;

	if (q->in_root || strstr(path, "/../"))	/* Not where the call looks */
		return -EPERM;
	if (q->what != CALL_UNLINK && q->what != CALL_RMDIR && q->what != CALL_MAKE &&
	    (q->what != CALL_OPEN || !(q->flags & O_CREAT)))
		return -EPERM;
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++) {
		changes += locks->v[i].changes.len;
		names += locks->v[i].names;
		bytes += locks->v[i].bytes;
	}
	if (changes == GIT_LOCK_CHANGES_MAX || len > GIT_LOCK_NAMES_MAX - names)
		return -ENOSPC;
	r = caps_drop(&caps);
	if (r < 0)
		return r;
	c.path = mem_strdup(path);
	r = keep(lock, q, &c, GIT_LOCK_BYTES_MAX - bytes);
	caps_restore(&caps);
	if (r < 0) {
		free(c.path);
		return r == -EEXIST ? 0 : r;
	}
	lock->names += len;
	*vec_push(&lock->changes) = c;
	return 0;
}

static int fill_file(const struct git_lock *lock, const struct git_change *c, int fd)
{
	const struct timespec times[2] = { c->st.st_atim, c->st.st_mtim };
	off_t at = c->at;

	while (at < c->at + c->st.st_size) {
		const ssize_t n = sendfile(fd, lock->old, &at,
					   (size_t)(c->at + c->st.st_size - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	if (fchown(fd, c->st.st_uid, c->st.st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, c->st.st_mode & 0777) < 0 ||
	       futimens(fd, times) < 0 ? -errno : 0;
}

static int put_file(const struct git_lock *lock, const struct git_change *c, int dir)
{
	const char *name = path_base(c->path);
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				   O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	r = fill_file(lock, c, fd);
	if (r < 0)	/* git would take a part of it for a change of the user's */
		(void)unlinkat(dir, name, 0);
	return r;
}

static int put_back(const struct git_lock *lock, const struct git_change *c)
{
	const char *name = path_base(c->path);
	char parent[PATH_MAX];
	auto_close int dir = -1;
	int r = 0;

	snprintf(parent, sizeof(parent), "%.*s", (int)(name - c->path), c->path);
	dir = open_in(lock, parent, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return errno == ENOENT && !c->st.st_mode ? 0 : -errno;
	if (S_ISREG(c->st.st_mode))
		return put_file(lock, c, dir);
	if (!c->st.st_mode) {
		r = unlinkat(dir, name, 0);
		if (r < 0 && errno == EISDIR)
			r = unlinkat(dir, name, AT_REMOVEDIR);
	} else {
		r = c->link ? symlinkat(c->link, dir, name)
			    : mkdirat(dir, name, c->st.st_mode & 0777);
	}
	return r < 0 && errno != EEXIST && errno != ENOENT ? -errno : 0;
}

/* On a full disk a file may fit once what git made before it is gone */
static int put_all(struct git_lock *lock)
{
	size_t failed = lock->changes.len;
	struct sys_caps caps;

	if (caps_drop(&caps) < 0)
		return -EIO;
	for (int pass = 0; pass < 2 && failed; pass++) {
		failed = 0;
		for (size_t i = lock->changes.len; i-- > 0;) {
			struct git_change *c = &lock->changes.v[i];

			if (c->done)
				continue;
			c->done = put_back(lock, c) == 0;
			failed += !c->done;
		}
	}
	caps_restore(&caps);
	return failed ? -EIO : 1;
}

/* Its handler of SIGTERM removes the lock */
static int undo(struct git_lock *lock)
{
	int r = pidfd_send_signal(lock->process, SIGTERM, NULL, 0) == 0 ? 1 : -EIO;

	if (put_all(lock) < 0)
		r = -EIO;
	forget(lock);
	return r;
}

static int note_call(struct git_locks *locks, const struct notification *q, pid_t pid,
		     const char *path)
{
	const bool is_lock = !strcmp(path_base(path), "index.lock");
	struct git_lock *lock;
	int r;

	if (is_lock && q->what == CALL_OPEN && q->flags & O_CREAT && q->flags & O_EXCL)
		take(locks, pid, path);
	if (is_lock && (q->what == CALL_RENAME || q->what == CALL_UNLINK)) {
		lock = find(locks, pid);
		if (lock && lock->refused)
			return undo(lock);
		if (lock)
			forget(lock);
	}
	if (is_lock || is_in_git(path))
		return 0;
	if (q->what == CALL_UNLINK)
		see(locks, pid);
	lock = find_begun(locks, pid);
	if (!lock || lock->partial)
		return 0;
	r = record(locks, lock, q, path);
	lock->partial = r < 0 && !lock->refused;
	if (lock->partial)
		drop_changes(lock);
	return r < 0 && lock->refused ? -EROFS : 0;
}

int git_lock_note(struct git_locks *locks, const struct notification *q, pid_t pid,
		  const char *path)
{
	int r;

	if (q->reads || q->quiet || !*path)
		return 0;
	pthread_mutex_lock(&locks->mutex);
	r = note_call(locks, q, pid, path);
	pthread_mutex_unlock(&locks->mutex);
	return r;
}

bool git_lock_refuses(const struct git_locks *locks, pid_t pid)
{
	for (size_t i = 0; i < GIT_LOCKS_MAX; i++) {
		if (locks->v[i].pid == pid && locks->v[i].refused)
			return true;
	}
	return false;
}

int git_lock_refused(struct git_locks *locks, pid_t pid, const char *path)
{
	struct git_lock *lock;
	int r = 0;

	pthread_mutex_lock(&locks->mutex);
	see(locks, pid);
	lock = is_in_git(path) ? NULL : find_begun(locks, pid);
	if (lock && !lock->partial) {
		lock->refused = true;
		r = lock->at_once ? put_all(lock) : 1;
	}
	pthread_mutex_unlock(&locks->mutex);
	return r ? r : git_lock_refuses(locks, pid);
}

void git_lock_reported(struct git_locks *locks, pid_t pid)
{
	struct git_lock *lock;

	pthread_mutex_lock(&locks->mutex);
	lock = find(locks, pid);
	if (lock && lock->refused && lock->at_once) {
		(void)pidfd_send_signal(lock->process, SIGTERM, NULL, 0);
		forget(lock);
	}
	pthread_mutex_unlock(&locks->mutex);
}
