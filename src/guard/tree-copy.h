/* SPDX-License-Identifier: Apache-2.0 */
/* guard/tree-copy.h - move a tree to another file system, by descriptors */

#ifndef GUARD_TREE_COPY_H
#define GUARD_TREE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct tree_copy - How much may still be copied
 * @entries:	Names
 * @bytes:	Of what files hold; holes are free
 * @depth:	Levels below the first
 */
struct tree_copy {
	size_t entries;
	uint64_t bytes;
	unsigned int depth;
};

/* Copy files, directories and symbolic links to @to_name in @to_dir, which must
 * not exist. Links are not followed; sockets, pipes and devices are not copied. Modes
 * of our own do not hinder it. 0 or a negative errno (-E2BIG, -EFBIG, -ELOOP: @copy
 * says so), and then nothing is there.
 */
int tree_copy_tree(struct tree_copy *copy, int from_dir, const char *from_name,
	      int to_dir, const char *to_name);

/* The bytes of a file, at most *@bytes, which is counted down; holes stay holes:
 * a file may be huge and hold next to nothing. 0 or a negative errno.
 */
int tree_copy_data(int in, int out, uint64_t *bytes);

/* Move it: rename where that can be done, else copy at most @limits and remove
 * the original. 0 or a negative errno; after a failed copy the original is
 * whole.
 */
int tree_copy_move(int from_dir, const char *from_name, int to_dir,
	      const char *to_name, struct tree_copy limits);

/* The directory @name, so that all that is in it can be looked at and removed, whatever
 * mode it was given: *@was. By descriptor: a link that is put in its place gets no mode
 * from us. Or a negative errno.
 */
int tree_copy_open(int dir, const char *name, mode_t *was);

/* Remove a tree; links are not followed. What is deeper than @depth_max is first moved
 * directly into @attic, a directory that is being removed; -1: there is none. 0 or a
 * negative errno.
 */
int tree_copy_remove(int dir, const char *name, unsigned int depth_max, int attic);

#endif /* GUARD_TREE_COPY_H */
