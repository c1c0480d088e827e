/* SPDX-License-Identifier: Apache-2.0 */
/* watch/birth.h - what was made after a run began */

#ifndef WATCH_BIRTH_H
#define WATCH_BIRTH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Now, by the clock that file systems take birth times from, as exactly as the
 * kernel has it
 */
struct timespec birth_now(void);

/* True if what stands at @path was made after @since. Without a birth
 * time it is old: a wrong "new" would open what exists.
 */
bool birth_is_after(const char *path, const struct timespec *since);

/* When what is open as @fd was made, in nanoseconds; 0 if nobody knows. With it
 * an inode number that is used again is another.
 */
int64_t birth_of(int fd);

/* True if what stands at @path, or its mode or name, was changed after @since */
bool birth_changed_after(const char *path, const struct timespec *since);

/* True if it was made after @since, or moved to where it is */
bool birth_came_after(const char *path, const struct timespec *since);

/* True if it is known to have been there, where it is, before @since */
bool birth_was_before(const char *path, const struct timespec *since);

/* True if @path lies in a repository whose directory was made after @since,
 * below (not at) @root: a clone brings its own protected names, and must work
 */
bool birth_in_repository(const char *root, const char *path,
			 const struct timespec *since);

#endif /* WATCH_BIRTH_H */
