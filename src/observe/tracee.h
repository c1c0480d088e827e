/* SPDX-License-Identifier: Apache-2.0 */
/* observe/tracee.h - a thread whose call waits: its memory, directories, descriptors
 *
 * All of it is the process's to change at any time: what is read here decides
 * what is reported and what is refused, never what is granted.
 */

#ifndef OBSERVE_TRACEE_H
#define OBSERVE_TRACEE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mask_fds;

enum { TRACEES = 64 };		/* /proc directories kept open */

/**
 * struct tracee - One thread
 * @tid:	As seen from here
 * @dir:	Its /proc directory. It stays that thread's when the number is
 *		given to another; it is then empty and opened again.
 * @mask_fds:	Of directories that FUSE masks show, or NULL (observe/mask-fds.h)
 */
struct tracee {
	pid_t tid;
	int dir;
	const struct mask_fds *mask_fds;
};

/**
 * struct tracees - Threads with recent notifications
 */
struct tracees {
	struct tracee v[TRACEES];
};

void tracees_init(struct tracees *t, const struct mask_fds *mask_fds);
void tracees_done(struct tracees *t);

/* The thread @tid, or NULL with errno set if it cannot be looked at */
struct tracee *tracee_get(struct tracees *t, pid_t tid);

/* The first thread of @t's process, as a tracee whose @dir is the caller's to
 * close: what "self" in /proc means. 0 or a negative errno.
 */
int tracee_first(struct tracee *t, struct tracee *ret);

/* Copy @n bytes at @address: 0 or a negative errno */
int tracee_read(const struct tracee *t, uint64_t address, void *ret, size_t n);

/* The reverse */
int tracee_write(const struct tracee *t, uint64_t address, const void *data,
		 size_t n);

/* Copy the string at @address. Its length, or -EFAULT, -ENAMETOOLONG if it
 * does not fit, or another negative errno.
 */
ssize_t tracee_string(const struct tracee *t, uint64_t address, char *ret,
		      size_t size);

/* Where "cwd", "root" or a descriptor leads, as absolute text seen from the
 * process's mount namespace. Its length, or a negative errno: -EIDRM for a
 * removed directory, with what d_path() says of it in @ret (tracee_step_up());
 * -ENOTDIR for what has no path at all (a pipe, a deleted file).
 */
ssize_t tracee_link(struct tracee *t, const char *name, char *ret,
		    size_t size);
ssize_t tracee_fd_link(struct tracee *t, int fd, char *ret, size_t size);

/* The kernel's text of a directory, the first @n bytes of @dir, has no links in
 * it: leading ".." and "." of *@rest, which is relative to it, are done on the
 * text. The new length; *@rest moves on. This holds for removed directories,
 * whose parent the kernel still knows.
 */
size_t tracee_step_up(const char *dir, size_t n, const char **rest);

/* Its root directory, O_PATH; or a negative errno */
int tracee_root(struct tracee *t);

/* The directory that a name is relative to: @fd or AT_FDCWD; O_PATH. Or a
 * negative errno: -EBADF, -ENOTDIR.
 */
int tracee_dir(const struct tracee *t, int fd);

/* The call that the thread @tid waits in: 1 with its number, -1 in none, and arguments;
 * 0 if the thread runs; or a negative errno
 */
int tracee_call(pid_t tid, long *ret, uint64_t args[6]);

/* A copy of its descriptor; or a negative errno */
int tracee_get_fd(struct tracee *t, int fd);

/* The process that the thread belongs to, and its umask; the thread's own
 * number and 0 if they cannot be read
 */
pid_t tracee_process(struct tracee *t, mode_t *umask);

#endif /* OBSERVE_TRACEE_H */
