/* SPDX-License-Identifier: Apache-2.0 */
/* cage/mask.h - masks that talk: the FUSE mount behind them, being built */

#ifndef CAGE_MASK_H
#define CAGE_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/mask.h"

struct err;
struct plan;
struct server;
struct stat;

/**
 * struct masks - While the tree is built
 * @tree:	The nodes
 * @device:	/dev/fuse, of our own connection; or -1: masks are silent
 * @root:	The mount with all nodes, or -1; @dev is its number
 * @next:	Nodes before it were asked for
 */
struct masks {
	struct mask_tree tree;
	int device, root;
	dev_t dev;
	size_t next;
	struct server *server;
};

/**
 * struct mask_ends - What is handed to whoever answers: @v[0] is the FUSE
 *		connection, then come the directories that the masks show, O_PATH
 */
struct mask_ends {
	int v[1 + MASK_WAYS_MAX];
	size_t len;
};

/* Before the world is read-only and without devices: open what is needed of the
 * host's /dev, @dev. It never fails: without it masks are silent.
 */
void masks_prepare(struct masks *masks, const struct plan *plan, int dev);

/* Make the file system on "masks" in the directory @box, which is attached to
 * BOX_AT, and answer for it from here
 */
void masks_start(struct masks *masks, int box);

/* The node for mount number @mount, which grows: its name, and what that is.
 * False if that mask is silent.
 */
bool masks_source(struct masks *masks, size_t mount, char *name,
		  size_t size, struct stat *st);

/* The tree stands: from now on nobody answers here. 0 and *@ret, which is empty
 * where masks are silent; or a negative errno with words.
 */
int masks_finish(struct masks *masks, struct mask_ends *ret, struct err *err);
void mask_ends_close(struct mask_ends *ends);

#endif /* CAGE_MASK_H */
