/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/mount-fd.h - mounts by their descriptors: clone, restrict, attach, make
 *
 * Functions with an @err return a descriptor or 0, or a negative errno with
 * a message; the others leave the message to the caller. Descriptors are the caller's.
 */

#ifndef SANDBOX_MOUNT_FD_H
#define SANDBOX_MOUNT_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* @path without following a link, O_PATH */
int tree_open(const char *path, struct err *err);
/* A detached copy of the mounts at and below @fd */
int tree_clone(int fd, struct err *err, const char *path);
int tree_attach(int tree, int at, struct err *err, const char *path);
/* Set and clear MOUNT_ATTR_* of the mount at @name in @dir, or of @dir itself if
 * that is "", and make it private; with AT_RECURSIVE also those below. 0, or -1
 * with errno.
 */
int tree_attr(int dir, const char *name, unsigned int flags, uint64_t set,
	      uint64_t clear);
/* The same for all of @tree, with nosuid */
int tree_set(int tree, uint64_t set, uint64_t clear, struct err *err,
	     const char *path);

/* Make @name in @dir read-only by mounting it on itself. 0 or a negative errno. */
int tree_seal(int dir, const char *name);

/* A new file system, detached. @options end with NULL; one without a value is a
 * flag. The descriptor or a negative errno.
 */
int mount_new(const char *type, const char *const (*options)[2],
	      unsigned int attr);

/* A new devpts of its own */
int mount_new_devpts(void);

/* An overlay of @n lower directories, the topmost first; @upper is -1 if it is
 * read-only. @fds is what the kernel reads descriptors' names behind:
 * "/proc/self/fd/", or "fd/" for a caller in /proc/self, which leaves space for
 * more of them in the 255 bytes of an option. Newer kernels take any number.
 */
int mount_new_overlay(const char *fds, const int *lower, size_t n, int upper,
		      int work);

/* Fill a new /dev with a file for each of view_devices to be mounted on, links, pts,
 * and shm with mode @shm
 */
int dev_furnish(int dev, mode_t shm, struct err *err);

#endif /* SANDBOX_MOUNT_FD_H */
