/* SPDX-License-Identifier: Apache-2.0 */
/* plan/fstype.h - what a kind of file system can be relied on for */

#ifndef PLAN_FSTYPE_H
#define PLAN_FSTYPE_H

#include <stdbool.h>

struct statfs;

/* True where the kernel itself keeps a directory's change time: a server could
 * say anything
 */
bool fstype_keeps_times(const struct statfs *fs);

/* True where it also counts the directories in one as links */
bool fstype_counts_dirs(const struct statfs *fs);

/* True for the kernel's own, and for mounts that nobody has asked for yet */
bool fstype_has_no_files(const struct statfs *fs);

#endif /* PLAN_FSTYPE_H */
