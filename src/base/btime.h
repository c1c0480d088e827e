/* SPDX-License-Identifier: Apache-2.0 */
/* base/btime.h - when files were made, and which are newer than a moment */

#ifndef BASE_BTIME_H
#define BASE_BTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Now, by the clock that file systems take birth times from, as exactly as the
 * kernel has it
 */
struct timespec btime_now(void);

/* True if what stands at @path was made after @since. Without a birth
 * time it is old: a wrong "new" would open what exists.
 */
bool btime_is_after(const char *path, const struct timespec *since);

/* When what is open as @fd was made, in nanoseconds; 0 if that is unknown. With it
 * an inode number that is used again is another.
 */
int64_t btime_of(int fd);

/* True if what stands at @path, or its mode or name, was changed after @since */
bool btime_changed_after(const char *path, const struct timespec *since);

/* True if it was made after @since, or moved to where it is */
bool btime_came_after(const char *path, const struct timespec *since);

/* True if it is known to have been there, where it is, before @since */
bool btime_was_before(const char *path, const struct timespec *since);

/* True if @path lies in a repository whose directory was made after @since,
 * below (not at) @root: a clone brings its own protected names, and must work
 */
bool btime_in_repository(const char *root, const char *path,
			 const struct timespec *since);

#endif /* BASE_BTIME_H */
