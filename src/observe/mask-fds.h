/* SPDX-License-Identifier: Apache-2.0 */
/* observe/mask-fds.h - descriptors of directories that a FUSE mask shows
 *
 * The kernel refuses every process outside the sandbox at a FUSE mask
 * (sandbox/fuse-mount.h), so the observer cannot reach by name what the mask shows.
 * Init passes a descriptor of each such directory, and resolution continues from it.
 */

#ifndef OBSERVE_MASK_FDS_H
#define OBSERVE_MASK_FDS_H

#include <stddef.h>
#include <stdint.h>

struct plan;
struct stat;
struct mask_fds;

/* @given came with SANDBOX_MASKS, for the directories that @plan's masks show in that
 * order (plan/fuse-mask.h), and are taken over. NULL if there are none.
 */
struct mask_fds *mask_fds_new(const struct plan *plan, const int *given, size_t n);
void mask_fds_free(struct mask_fds *fds);

/* In these @fds may be NULL, and @path is absolute text, seen from @root */

/* Bytes at the start of @path that are one of the directories, or lead to one: no
 * component of it is a link. 0 if there are none.
 */
size_t mask_fds_length(const struct mask_fds *fds, const char *path);

/* The directory @path, O_PATH; with @resolve as openat2() has it. Or a negative
 * errno: -EACCES as well if it leads through one of the directories and out of it
 * again, up or by a link.
 */
int mask_fds_open(const struct mask_fds *fds, int root, const char *path,
	      uint64_t resolve);

/* What stands at @path, which may be a link: 0 or a negative errno */
int mask_fds_stat(const struct mask_fds *fds, int root, const char *path,
	      struct stat *ret);

#endif /* OBSERVE_MASK_FDS_H */
