/* SPDX-License-Identifier: Apache-2.0 */
/* cage/box.h - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#ifndef CAGE_BOX_H
#define CAGE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cage_request;
struct err;
struct plan;

enum { BOX_NODES = 6 };

/**
 * struct box - Descriptors while the tree is built
 * @nodes:	Clones of the host's harmless devices
 * @proc:	A new /proc, to be mounted; or a negative errno
 * @pts:	A private devpts
 * @console:	Clone of the caller's terminal, or -1
 * @tmp:	Clone of the directory kept as /tmp, or -1
 * @fd:		The tmpfs, attached below /dev
 * @writable:	The same, for layers; -1 until there is one
 */
struct box {
	int nodes[BOX_NODES];
	int proc, pts;
	int console, tmp;
	int fd, writable;
};

/* Before anything is known of the plan: the devices, the new file systems, and
 * what is in every box
 */
int box_begin(struct box *box, struct err *err);

/* Before the world is read-only: take what comes from the host */
int box_prepare(struct box *box, const struct cage_request *request,
		struct err *err);

/* What this plan needs in the tmpfs; attach it */
int box_open(struct box *box, const struct plan *plan, struct err *err);

/* A new clone of the empty directory, of mask number @mask, or of the
 * unreadable file, read-only
 */
int box_mask(const struct box *box, bool dir, unsigned int mask,
	     struct err *err);

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
/* 1 if /proc stayed the host's */
int box_mount_proc(const struct box *box, const struct plan *plan,
		   struct err *err);
/* procfs.c: a new /proc, to be mounted. A negative errno. */
int box_make_proc(void);

/* Last: covers the box itself */
int box_mount_dev(struct box *box, struct err *err);

/* The name of mask number @mask in the box */
void box_mask_name(unsigned int mask, char *out, size_t size);

/* A clone of one directory or file of the box, less the attributes @clear */
int box_part(const struct box *box, const char *name, uint64_t clear,
	     struct err *err);

/* tree.c, shared */
int tree_open(const char *path, struct err *err);
int tree_clone(int fd, struct err *err, const char *path);
int tree_attach(int tree, int at, struct err *err, const char *path);
int tree_set(int tree, uint64_t set, uint64_t clear, struct err *err,
	     const char *path);

#endif /* CAGE_BOX_H */
