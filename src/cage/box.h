/* SPDX-License-Identifier: Apache-2.0 */
/* cage/box.h - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#ifndef CAGE_BOX_H
#define CAGE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct bind_dir;
struct cage_request;
struct err;
struct plan;

#define BOX_AT	"/dev"	/* Where it is attached until there is a new /dev */
#define BOX_TWIN	"twin"	/* A place in it: twin.c */

/**
 * struct box - Descriptors while the tree is built
 * @fd:		The tmpfs, attached to BOX_AT
 * @host:	The host's /dev, which is below it
 * @dev, @proc:	The new ones, in the box. @proc can be a negative errno.
 * @shm, @pts:	For the new /dev
 * @console:	Clone of the caller's terminal, or -1
 * @tmp:	Clone of the directory kept as /tmp, or -1
 * @writable:	As @fd, for layers; -1 until there is one
 * @empty, @unreadable: What most masks show
 */
struct box {
	int fd, host, dev, proc, shm, pts, console, tmp, writable;
	struct stat empty, unreadable;
};

/* Before anything is known of the plan: the new file systems. Then, with a user
 * to own files: what is in every box; attach it. Then the new /dev and /proc
 * (box_begin_dev(), box_begin_proc()).
 */
int box_make(struct box *box, struct err *err);
int box_fill(struct box *box, struct err *err);

/* Before the world is read-only: take what comes from the host */
int box_prepare(struct box *box, const struct cage_request *request,
		struct err *err);

/* What this plan needs in the tmpfs */
int box_open(const struct box *box, const struct plan *plan, struct err *err);

/* A new clone of the empty directory, of mask number @mask, or of the
 * unreadable file, read-only
 */
int box_mask(const struct box *box, bool dir, unsigned int mask,
	     struct err *err);

/* Cover @path, which outlives @at, with the empty directory if it is one, else
 * with the unreadable file
 */
int box_cover(const struct box *box, struct bind_dir *at, bool dir,
	      const char *path, struct err *err);

/* A new clone of mask number @mask that can be written to */
int box_private(const struct box *box, unsigned int mask, struct err *err);

/* A new clone of the file in mask number @mask, read-only */
int box_file(const struct box *box, unsigned int mask, struct err *err);

/* The directory @lower with mask number @mask as the private layer over it. A
 * negative errno where this kernel has no such overlays.
 */
int box_layer(struct box *box, unsigned int mask, int lower, struct err *err);

/* The directory @lower with "@number/u" and "@number/w" of @dir over it */
int box_aside(const char *dir, unsigned int number, int lower,
	      struct err *err);

int box_mount_tmp(struct box *box, const struct plan *plan, struct err *err);

/* procfs.c: a new one, or a negative errno */
int box_make_proc(void);
int box_begin_proc(struct box *box, struct err *err);
/* 0, or 1 if /proc stays the host's */
int box_mount_proc(const struct box *box, const struct plan *plan,
		   struct err *err);

/* box-dev.c: a private devpts */
int box_make_pts(struct err *err);
/* Names and links; the mounts on them */
int box_furnish_dev(int box, struct err *err);
int box_begin_dev(struct box *box, struct err *err);
/* A place for the caller's terminal */
int box_make_console(const struct box *box, struct err *err);
/* Now that all mounts are read-only, and devices in them are none */
int box_open_dev(const struct box *box, struct err *err);
/* Last: covers the box itself */
int box_mount_dev(struct box *box, struct err *err);
int box_terminal(const struct box *box, const struct cage_request *request);

void box_done(struct box *box);

/* The name of mask number @mask in the box */
void box_mask_name(unsigned int mask, char *out, size_t size);

/* A clone of one directory or file of the box, less the attributes @clear */
int box_part(const struct box *box, const char *name, uint64_t clear,
	     struct err *err);

int box_make_dir(int box, const char *path, mode_t mode, struct err *err);
int box_make_file(int box, const char *path, mode_t mode, struct err *err);
int box_attach(int tree, const char *path, struct err *err);

/* tree-fd.c */
int tree_open(const char *path, struct err *err);
int tree_clone(int fd, struct err *err, const char *path);
int tree_attach(int tree, int at, struct err *err, const char *path);
int tree_set(int tree, uint64_t set, uint64_t clear, struct err *err,
	     const char *path);

/* Whoever may write everywhere means files: not the kernel's own switches, which
 * obey root without asking for a capability. 0, or a negative errno.
 */
int box_close_sys(struct err *err);

#endif /* CAGE_BOX_H */
