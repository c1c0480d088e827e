/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/tmpfs.h - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#ifndef SANDBOX_TMPFS_H
#define SANDBOX_TMPFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct bind_dir;
struct sandbox_request;
struct err;
struct plan;

#define TMPFS_AT	"/dev"	/* Where it is attached until there is a new /dev */
#define TMPFS_CLONE	"clone"	/* A directory in it: mount-tree.c */
#define TMPFS_UNREADABLE	"unreadable"	/* The file that masks show */

/**
 * struct tmpfs - Descriptors while the tree is built
 * @fd:		The tmpfs, attached to TMPFS_AT
 * @host:	The host's /dev, which is below it
 * @dev, @proc:	The new ones, in the tmpfs. @proc can be a negative errno.
 * @shm, @pts:	For the new /dev
 * @console:	Clone of the caller's terminal, or -1
 * @tmp:	Clone of the directory kept as /tmp, or -1
 * @writable:	As @fd, for layers; -1 until there is one
 * @empty, @unreadable: What most masks show
 */
struct tmpfs {
	int fd, host, dev, proc, shm, pts, console, tmp, writable;
	struct stat empty, unreadable;
};

/* Before anything is known of the plan: the new file systems. Then, with a user
 * to own files: what is in every one; attach it. Then the new /dev and /proc
 * (tmpfs_begin_dev(), tmpfs_begin_proc()).
 */
int tmpfs_make(struct tmpfs *tmpfs, struct err *err);
int tmpfs_fill(struct tmpfs *tmpfs, struct err *err);

/* Before the world is read-only: take what comes from the host */
int tmpfs_prepare(struct tmpfs *tmpfs, const struct sandbox_request *request,
		struct err *err);

/* What this plan needs in the tmpfs */
int tmpfs_open(const struct tmpfs *tmpfs, const struct plan *plan, struct err *err);

/* A new clone of mask number @mask, or of what is @below ("/file") in it, less the
 * attributes @clear: without them it is read-only and holds no programs
 */
int tmpfs_mask(const struct tmpfs *tmpfs, unsigned int mask, const char *below,
	       uint64_t clear, struct err *err);

/* Cover @path, which outlives @at, with the empty directory if it is one, else
 * with the unreadable file
 */
int tmpfs_cover(const struct tmpfs *tmpfs, struct bind_dir *at, bool dir,
	      const char *path, struct err *err);

/* The directory @lower with mask number @mask as the private layer over it. A
 * negative errno where this kernel has no such overlays.
 */
int tmpfs_layer(struct tmpfs *tmpfs, unsigned int mask, int lower, struct err *err);

/* The directory @lower with "@number/u" and "@number/w" of @dir over it */
int tmpfs_staged(const char *dir, unsigned int number, int lower,
	      struct err *err);

int tmpfs_mount_tmp(struct tmpfs *tmpfs, const struct plan *plan, struct err *err);

/* dev-proc.c */
int tmpfs_begin_proc(struct tmpfs *tmpfs, struct err *err);
/* 0, or 1 if /proc stays the host's */
int tmpfs_mount_proc(const struct tmpfs *tmpfs, const struct plan *plan,
		   struct err *err);

/* The mounts on its names */
int tmpfs_begin_dev(struct tmpfs *tmpfs, struct err *err);
/* A place for the caller's terminal */
int tmpfs_make_console(const struct tmpfs *tmpfs, struct err *err);
/* After all mounts were made read-only and nodev */
int tmpfs_open_dev(const struct tmpfs *tmpfs, struct err *err);
/* Last: covers the tmpfs itself */
int tmpfs_mount_dev(struct tmpfs *tmpfs, struct err *err);
int tmpfs_terminal(const struct tmpfs *tmpfs, const struct sandbox_request *request);

void tmpfs_done(struct tmpfs *tmpfs);

/* The name of mask number @mask in the tmpfs */
void tmpfs_mask_name(unsigned int mask, char *out, size_t size);

/* A clone of one directory or file of the tmpfs, less the attributes @clear */
int tmpfs_part(const struct tmpfs *tmpfs, const char *name, uint64_t clear,
	     struct err *err);

int tmpfs_make_dir(int tmpfs, const char *path, mode_t mode, struct err *err);
int tmpfs_make_file(int tmpfs, const char *path, mode_t mode, struct err *err);
int tmpfs_attach(int tree, const char *path, struct err *err);

/* Make /sys read-only, which root may write without a capability: a rule that allows
 * writing everywhere means files. 0, or a negative errno.
 */
int tmpfs_close_sys(struct err *err);

#endif /* SANDBOX_TMPFS_H */
