/* SPDX-License-Identifier: Apache-2.0 */
/* watch/copy.h - move a tree to another file system, by descriptors */

#ifndef WATCH_COPY_H
#define WATCH_COPY_H

#include <stddef.h>
#include <stdint.h>

struct copy_links;

enum { COPY_LINKS_MAX = 1 << 14 };	/* Files whose other names are linked */

/**
 * struct copy - What may still be copied: one for several trees to one place
 * @entries:	Names
 * @bytes:	Of what files hold; holes are free
 * @depth:	Levels below the first
 * @links:	Files with several names, as they are called in the copy; NULL
 *		at first
 */
struct copy {
	size_t entries;
	uint64_t bytes;
	unsigned int depth;
	struct copy_links *links;
};

/* Copy files, directories and symbolic links to @to_name in @to_dir, which must
 * not exist; @to_dir is the same in all calls with @copy. Links are not
 * followed, several names of a file stay names of one file; sockets, pipes and
 * devices are not copied. Modes of our own do not hinder it. 0 or a negative
 * errno (-E2BIG, -EFBIG, -ELOOP: @copy says so), and then nothing is there.
 */
int copy_tree(struct copy *copy, int from_dir, const char *from_name,
	      int to_dir, const char *to_name);

void copy_done(struct copy *copy);

/* The bytes of a file, at most *@bytes, which is counted down; holes stay holes:
 * a file may be huge and hold next to nothing. 0 or a negative errno.
 */
int copy_data(int in, int out, uint64_t *bytes);

/* Move it: rename where that can be done, else copy at most @limits and remove
 * the original. 0 or a negative errno; after a failed copy the original is
 * whole.
 */
int copy_move(int from_dir, const char *from_name, int to_dir,
	      const char *to_name, struct copy limits);

/* Remove a tree; links are not followed */
int copy_remove(int dir, const char *name, unsigned int depth_max);

#endif /* WATCH_COPY_H */
