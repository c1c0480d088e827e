/* SPDX-License-Identifier: Apache-2.0 */
/* base/fs.c - files and directories, by descriptor */

#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

enum { FLOCK_STEP_MS = 10 };

int fs_read_fd(int fd, size_t max, struct buf *b, struct err *err)
{
	const size_t start = b->len;
	char chunk[16384];

	for (;;) {
		const ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, "cannot read");
		if (!n)
			return 0;
		if ((size_t)n > max - (b->len - start))
			return fail(err, -EFBIG, "larger than %zu bytes", max);
		buf_add(b, chunk, (size_t)n);
	}
}

int fs_read(int dirfd, const char *path, size_t max, struct buf *b,
	    struct err *err)
{
	/* O_NONBLOCK: a FIFO in this place must not hold us up */
	auto_close int fd = openat(dirfd, path,
				   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return fail(err, -EISDIR, "'%s' is a directory", path);
	if (!S_ISREG(st.st_mode))
		return fail(err, -EINVAL, "'%s' is not a regular file", path);

	r = fs_read_fd(fd, max, b, err);
	return r < 0 ? fail_in(err, r, "%s", path) : 0;
}

bool fs_read_small(int dirfd, const char *path, char *text, size_t size)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (!n)
		errno = ENODATA;
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int fs_given_fd(const char *text)
{
	uint64_t fd;
	int flags;

	if (text_to_u64(text, INT_MAX, &fd) < 0)
		return -EINVAL;
	flags = fcntl((int)fd, F_GETFD);
	return flags < 0 || flags & FD_CLOEXEC ? -EBADF : (int)fd;
}

char *fs_link(const char *fmt, ...)
{
	char target[PATH_MAX];
	auto_free char *path = NULL;
	ssize_t n;
	va_list ap;

	va_start(ap, fmt);
	path = mem_vprintf(fmt, ap);
	va_end(ap);
	n = readlink(path, target, sizeof(target));
	/* A link that fills the buffer may be cut */
	return n > 0 && (size_t)n < sizeof(target) ? mem_strndup(target, (size_t)n) : NULL;
}

int fs_fd_link(int fd, char *path, size_t size)
{
	char name[32];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, path, size - 1);
	if (n <= 0 || path[0] != '/') {
		path[0] = '\0';
		return n < 0 ? -errno : -ENOENT;
	}
	path[n] = '\0';
	return 0;
}

char *fs_fd_path(int fd)
{
	char path[PATH_MAX];
	struct stat st, there;

	if (fs_fd_link(fd, path, sizeof(path)) < 0 || fstat(fd, &st) < 0 ||
	    stat(path, &there) < 0 || st.st_dev != there.st_dev ||
	    st.st_ino != there.st_ino)
		return NULL;
	return mem_strdup(path);
}

int fs_above_std(int fd)
{
	const int above = fd < 0 || fd > STDERR_FILENO ? fd :
		fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	const int saved = errno;

	if (above != fd)
		(void)close(fd);
	errno = saved;
	return above;
}

int fs_flock_within(int fd, int how, unsigned int ms)
{
	const struct timespec step = { .tv_nsec = FLOCK_STEP_MS * 1000000 };
	unsigned int waited = 0;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (waited >= ms)
			return -EWOULDBLOCK;
		(void)nanosleep(&step, NULL);
		waited += FLOCK_STEP_MS;
	}
	return 0;
}

void fs_unlock(int *fd)
{
	if (*fd >= 0)
		(void)flock(*fd, LOCK_UN);
	close_fd(fd);
}

ssize_t fs_write_quietly(int fd, const void *data, size_t n)
{
	const struct timespec now = { 0 };
	sigset_t pipe, before, pending;
	ssize_t done;
	int saved;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	sigprocmask(SIG_BLOCK, &pipe, &before);
	done = write(fd, data, n);
	saved = errno;
	if (done < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&pipe, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return done;
}

static int write_all_by(ssize_t (*by)(int fd, const void *data, size_t n),
			int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		const ssize_t done = by(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int fs_write_all(int fd, const void *data, size_t n)
{
	return write_all_by(write, fd, data, n);
}

int fs_tell(int fd, const void *data, size_t n)
{
	return write_all_by(fs_write_quietly, fd, data, n);
}

/* Opened anew a pipe or a terminal need not wait. What can't be is asked, and of
 * a pipe that has room, that much is free.
 */
ssize_t fs_write_now(int fd, const void *data, size_t n)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	char path[32];
	struct stat st;
	auto_close int own = -1;
	ssize_t done;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISSOCK(st.st_mode)) {
		done = send(fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		return done < 0 ? -errno : done;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0 && poll(&ready, 1, 0) != 1)
		return -EAGAIN;
	if (own < 0 && !S_ISREG(st.st_mode) && n > PIPE_BUF)
		n = PIPE_BUF;
	done = fs_write_quietly(own < 0 ? fd : own, data, n);
	return done < 0 ? -errno : done;
}

/* An unguessable name, so that no other process can have put a link there */
static int temporary_name(const char *name, char *ret, size_t size)
{
	unsigned long long r;

	if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return -EIO;
	if ((size_t)snprintf(ret, size, ".%.200s.%016llx", name, r) >= size)
		return -ENAMETOOLONG;
	return 0;
}

/* A file that root replaces stays its user's. Where the owner cannot be kept, the
 * new file belongs to us.
 */
static void keep_owner(int dirfd, const char *name, int fd)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && fchown(fd, st.st_uid, st.st_gid) < 0)
		return;
}

/* True if fs_batch_sync() will sync the file system of @fd */
static bool batch_add(struct fs_batch *batch, int fd)
{
	struct stat st;
	size_t i = 0;

	if (fstat(fd, &st) < 0)
		return false;
	while (i < batch->n && batch->dev[i] != st.st_dev)
		i++;
	if (i < batch->n)
		return true;
	if (i == FS_BATCH_MAX ||
	    (batch->fd[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return false;
	batch->dev[i] = st.st_dev;
	batch->n++;
	return true;
}

int fs_batch_sync(struct fs_batch *batch)
{
	int r = 0;

	for (; batch->n; batch->n--) {
		if (syncfs(batch->fd[batch->n - 1]) < 0)
			r = -errno;
		close(batch->fd[batch->n - 1]);
	}
	return r;
}

static int write_and_rename(int dirfd, const char *temporary, const char *name,
			    int fd, const void *data, size_t n, mode_t mode,
			    struct fs_batch *batch)
{
	int r = fs_write_all(fd, data, n);
	bool later;

	if (r < 0)
		return r;
	keep_owner(dirfd, name, fd);
	later = batch && batch_add(batch, fd);
	if (fchmod(fd, mode) < 0 || (!later && fsync(fd) < 0) ||
	    renameat(dirfd, temporary, dirfd, name) < 0)
		return -errno;
	if (!later)
		(void)fsync(dirfd);	/* The file is whole either way */
	return 0;
}

int fs_replace_later(int dirfd, const char *name, const void *data, size_t n,
		     mode_t mode, struct fs_batch *batch, struct err *err)
{
	char temporary[256];
	auto_close int fd = -1;
	int r = temporary_name(name, temporary, sizeof(temporary));

	if (r < 0)
		return fail(err, r, "cannot name a temporary file for '%s'",
			    name);
	fd = openat(dirfd, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(err, "cannot write beside '%s'", name);

	r = write_and_rename(dirfd, temporary, name, fd, data, n, mode, batch);
	if (r < 0) {
		(void)unlinkat(dirfd, temporary, 0);
		return fail(err, r, "cannot replace '%s': %s", name,
			    strerror(-r));
	}
	return 0;
}

int fs_replace(int dirfd, const char *name, const void *data, size_t n,
	       mode_t mode, struct err *err)
{
	return fs_replace_later(dirfd, name, data, n, mode, NULL, err);
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Accounts without a home have $HOME=/nonexistent: no directory is made there */
static bool is_home(const char *path)
{
	auto_free char *home = fs_home();

	return home && !strcmp(home, path);
}

int fs_open_dir_p(const char *path, mode_t mode, struct err *err)
{
	int fd = open_dir(path);

	if (fd < 0 && errno == ENOENT) {
		auto_free char *parent = path_parent(path);
		auto_close int up = -1;

		if (!strcmp(parent, path))
			return fail_errno(err, "cannot open '%s'", path);
		if (is_home(path))
			return fail(err, -ENOENT, "the home directory '%s' does not exist",
				    path);
		up = fs_open_dir_p(parent, mode, err);
		if (up < 0)
			return up;
		if (mkdirat(up, path_base(path), mode) < 0 && errno != EEXIST)
			return fail_errno(err, "cannot make '%s'", path);
		fd = open_dir(path);
	}
	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", path);
	return fd;
}

int fs_open_private_dir(const char *path, struct err *err)
{
	auto_close int fd = fs_open_dir_p(path, 0700, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, "cannot look at '%s'", path);
	if (!fs_is_named(fd, path))
		return fail(err, -ELOOP, "'%s' must not be a symbolic link",
			    path);
	if (st.st_uid != geteuid())
		return fail(err, -EPERM, "'%s' belongs to another user", path);
	if ((st.st_mode & 077) && fchmod(fd, 0700) < 0)
		return fail_errno(err, "cannot take the access of other users to '%s' away", path);
	return take_fd(&fd);
}

int fs_open_private_below(const char *path, const char *name, struct err *err)
{
	auto_free char *below = path_join(path, name);
	auto_close int above = fs_open_private_dir(path, err);

	return above < 0 ? above : fs_open_private_dir(below, err);
}

bool fs_is_named(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && lstat(path, &named) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

int fs_chmod(int fd, mode_t mode)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, mode & 07777);
}

/* Homes are compared with real paths, and many are reached through a link. One
 * that does not exist is as it was spelled.
 */
static char *real_home(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : path_resolve("/", path);
}

/* NSS is not consulted: it would load libraries on the start path */
char *fs_account_home(void)
{
	auto_fclose FILE *f = fopen("/etc/passwd", "re");
	const uid_t uid = geteuid();
	const struct passwd *user = NULL;

	while (f && (user = fgetpwent(f)) != NULL) {
		if (user->pw_uid == uid && user->pw_dir[0] == '/')
			return real_home(user->pw_dir);
	}
	return NULL;
}

char *fs_home(void)
{
	const char *home = getenv("HOME");

	return home && home[0] == '/' ? real_home(home) : fs_account_home();
}

char *fs_xdg(const char *variable, const char *fallback)
{
	const char *value = getenv(variable);
	auto_free char *home = NULL;

	if (value && value[0] == '/')
		return path_resolve("/", value);
	home = fs_home();
	return home ? path_join(home, fallback) : NULL;
}

/* True if we are root and @path, or what exists of it, is another user's */
static bool is_others(const char *path)
{
	auto_free char *at = path_resolve("/", path);
	struct stat st;

	while (stat(at, &st) < 0) {
		char *parent = strcmp(at, "/") ? path_parent(at) : NULL;

		if (!parent)
			return false;
		free(at);
		at = parent;
	}
	return geteuid() == 0 && st.st_uid != 0;
}

char *fs_state_home(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	auto_free char *account = NULL;

	if (!state || state[0] != '/')
		state = home;
	if (!state || state[0] != '/' || !is_others(state))
		return fs_xdg("XDG_STATE_HOME", ".local/state");
	account = fs_account_home();
	return account ? path_join(account, ".local/state") : NULL;
}

struct dir dir_of(int fd)
{
	return (struct dir){
		.fd = fd, .buffer = fd < 0 ? NULL : mem_alloc(DIR_BUFFER),
		.size = DIR_BUFFER,
	};
}

int dir_next(struct dir *dir, struct dir_entry *ret)
{
	for (;;) {
		const struct dirent64 *entry;
		ssize_t n;

		if (dir->at == dir->len) {
			n = getdents64(dir->fd, dir->buffer, dir->size);
			if (n <= 0)
				return n < 0 ? -errno : 0;
			dir->at = 0;
			dir->len = (size_t)n;
		}
		entry = (const struct dirent64 *)(const void *)(dir->buffer +
								dir->at);
		dir->at += entry->d_reclen;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		ret->name = entry->d_name;
		ret->type = entry->d_type;
		ret->ino = entry->d_ino;
		return 1;
	}
}

int dir_has_names(int dirfd, const char *path)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;

	return fd < 0 ? -errno : dir_next(&dir, &entry);
}
