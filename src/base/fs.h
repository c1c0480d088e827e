/* SPDX-License-Identifier: Apache-2.0 */
/* base/fs.h - files and directories, by descriptor */

#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/own.h"

struct buf;
struct err;

enum { FS_BATCH_MAX = 8 };	/* File systems that fs_batch_sync() syncs */

/* Read @path (relative to @dirfd), a regular file of at most @max bytes, to
 * the end of @b. 0, -ENOENT, -EFBIG, -EISDIR, or another negative errno.
 */
int fs_read(int dirfd, const char *path, size_t max, struct buf *b,
	    struct err *err);

/* As fs_read(), from a descriptor of any kind */
int fs_read_fd(int fd, size_t max, struct buf *b, struct err *err);

/* A file of /proc that is smaller than @size: true and @text as a string; false with
 * errno if it cannot be read, or is empty
 */
bool fs_read_small(int dirfd, const char *path, char *text, size_t size);

/* The descriptor that @text names, which the caller of this program left open for
 * it. -EINVAL if @text is not a number; -EBADF if it is not open, also for one of
 * our own, which all close on exec.
 */
int fs_given_fd(const char *text);

/* What the symbolic link of that path holds ("/proc/%d/exe"); NULL if that cannot be
 * read. The caller frees.
 */
char *fs_link(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What the kernel calls the file that @fd is open on: an absolute path, which may
 * be another file's by now. 0, or a negative errno and "": a socket, a pipe.
 */
int fs_fd_link(int fd, char *path, size_t size);

/* The absolute path that @fd is open on, or NULL if it has none: a socket, a pipe,
 * a file that is gone. The caller frees.
 */
char *fs_fd_path(int fd);

/* A new descriptor of ours, moved above the standard three: where those are
 * closed it would be taken for one of them, and printed to or handed on. Closed
 * in any case; the new number, or -1 with errno.
 */
int fs_above_std(int fd);

/* flock() that does not wait for ever: the process that holds the lock may be
 * stopped, or hold it on purpose. 0, or a negative errno: -EWOULDBLOCK after @ms.
 */
int fs_flock_within(int fd, int how, unsigned int ms);

/* Release the lock of flock(), and close the descriptor. A child that holds a copy for
 * a moment longer than we live does not hold the lock.
 */
void fs_unlock(int *fd);

/* Write all of it, in spite of signals and short writes. 0 or -errno. */
int fs_write_all(int fd, const void *data, size_t n);

/* As write() and fs_write_all(), without the SIGPIPE that a closed reader causes */
ssize_t fs_write_quietly(int fd, const void *data, size_t n);
int fs_tell(int fd, const void *data, size_t n);

/* As fs_write_quietly(), for what must not wait: how many bytes were taken, or a
 * negative errno, -EAGAIN if the buffer is full. The flags of @fd, which others may
 * have too, stay as they are.
 */
ssize_t fs_write_now(int fd, const void *data, size_t n);

/* Replace @name in @dirfd by @n bytes with @mode, atomically and durably: a
 * crash at any point leaves the old file or the new one, and nothing else
 * that could be read.
 */
int fs_replace(int dirfd, const char *name, const void *data, size_t n,
	       mode_t mode, struct err *err);

/**
 * struct fs_batch - Replaced files that are to be synced together
 * @fd:		A file on each file system of them
 */
struct fs_batch {
	size_t n;
	dev_t dev[FS_BATCH_MAX];
	int fd[FS_BATCH_MAX];
};

/* As fs_replace(), but durable only after fs_batch_sync(): a loss of power before that
 * may leave an empty file. With more than FS_BATCH_MAX file systems it is as fs_replace().
 */
int fs_replace_later(int dirfd, const char *name, const void *data, size_t n,
		     mode_t mode, struct fs_batch *batch, struct err *err);

/* Sync the file systems of @batch, and empty it. 0 or a negative errno. */
int fs_batch_sync(struct fs_batch *batch);

/* Open the directory @path, making what is missing with @mode, but never $HOME
 * itself. The descriptor (O_DIRECTORY, not O_PATH), or a negative errno.
 */
int fs_open_dir_p(const char *path, mode_t mode, struct err *err);

/* As fs_open_dir_p() with 0700, and the last directory must be a real one of
 * ours that no other user may enter
 */
int fs_open_private_dir(const char *path, struct err *err);

/* The same for @path, and for @name in it */
int fs_open_private_below(const char *path, const char *name, struct err *err);

/* True if @path, not followed, is what @fd is open on */
bool fs_is_named(int fd, const char *path);

/* fchmod() that takes descriptors opened with O_PATH as well, and a st_mode: 0,
 * or -1 with errno
 */
int fs_chmod(int fd, mode_t mode);

/* $HOME if it is absolute, else the password database's, else NULL; real, if it
 * exists. The caller frees.
 */
char *fs_home(void);

/* The home of the effective user in /etc/passwd, real if it exists, or NULL. The
 * caller frees.
 */
char *fs_account_home(void);

/* An XDG base directory: $@variable if it is absolute, else @fallback below
 * the home directory; NULL without one. The caller frees.
 */
char *fs_xdg(const char *variable, const char *fallback);

/* Where state is kept: $XDG_STATE_HOME, or ~/.local/state. If we are root and that, or
 * $HOME, is another user's (sudo -E), below the password database's home: that user
 * could put links there, and could not remove what we make. NULL without a home. The
 * caller frees.
 */
char *fs_state_home(void);

enum { DIR_BUFFER = 32 << 10 };	/* A good size for the buffer */

/**
 * struct dir - The names in a directory; fd and buffer are the caller's
 * @fd:		An open directory
 * @buffer:	Of @size bytes, aligned for a struct of 8-byte members
 *
 * readdir() allocates and clears 32 KiB per directory, which is most of what a
 * walk over many small ones would cost.
 */
struct dir {
	int fd;
	char *buffer;
	size_t size;
	size_t at, len;
};

/**
 * struct dir_entry - One name; valid until the next call
 * @type:	DT_DIR and the like
 * @ino:	Of a mount point, that of the directory below it
 */
struct dir_entry {
	const char *name;
	unsigned char type;
	ino_t ino;
};

/* A reading of @fd with a buffer of its own, for auto_dir; none for -1 */
struct dir dir_of(int fd);

OWN_CLEANUP(dir_donep_, struct dir *, free(p->buffer))
#define auto_dir	__attribute__((cleanup(dir_donep_)))

/* The next name, "." and ".." left out: 1, 0 at the end, or a negative errno */
int dir_next(struct dir *dir, struct dir_entry *ret);

/* 1 if the directory @path, which is not followed, has names in it, 0 if it is empty,
 * or a negative errno
 */
int dir_has_names(int dirfd, const char *path);

#endif /* BASE_FS_H */
