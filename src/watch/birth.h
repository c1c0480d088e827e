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

/* How long ago it was made, or negative if nobody knows */
int64_t birth_age_ms(const char *path);

/* True if it may have been made while a call of @call_ms (quick_now_ms(), or 0 if
 * there was none) went on. An honest attempt from inside is refused, so a
 * protected name can only come from there in the shadow of a call that was let
 * through. What counts is when it was made, not when we hear of it: somebody may
 * see to it that we are late.
 */
bool birth_is_shadowed(int64_t call_ms, const char *path);

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
