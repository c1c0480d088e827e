/* SPDX-License-Identifier: Apache-2.0 */
/* watch/copy.h - move a tree to another file system, by descriptors */

#ifndef WATCH_COPY_H
#define WATCH_COPY_H

#include <stddef.h>

/* Move @from_name in @from_dir to @to_name in @to_dir, which must not exist.
 * Renames where it can; else copies files, directories and symbolic links (at
 * most @entries_max names, @depth_max levels) and then removes the original.
 * Links are not followed; sockets, pipes and devices are not copied. 0 or a
 * negative errno; after a failed copy the original is whole.
 */
int copy_move(int from_dir, const char *from_name, int to_dir,
	      const char *to_name, size_t entries_max, unsigned int depth_max);

/* Remove a tree; links are not followed */
int copy_remove(int dir, const char *name, unsigned int depth_max);

#endif /* WATCH_COPY_H */
