/* SPDX-License-Identifier: Apache-2.0 */
/* policy/glob.h - path patterns in linear time: "*", "?", "[set]", "**" */

#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct glob;

/* True if @text holds a pattern character */
bool glob_is_pattern(const char *text);

/* Compile the absolute @pattern, which path_resolve() has cleaned. "*" and "?"
 * stop at "/", "**" does not; "**" and a slash match nothing or any
 * directories; "[set]" has ranges, no negation, and never matches "/"; a set
 * that is empty, backwards or cut by a "/" is literal text. No escapes: "[*]"
 * is a star. "?" and sets take one character, or one byte that is not UTF-8.
 * NULL with words if it is too long or not absolute.
 */
struct glob *glob_new(const char *pattern, struct err *err);
void glob_free(struct glob *glob);

/* True if the pattern matches all of the absolute @path. Time is at most
 * pattern times path.
 */
bool glob_match(const struct glob *glob, const char *path);

/* The directory above the first pattern character, or above all of it if
 * there is none: all matches are below it. Owned by @glob.
 */
const char *glob_prefix(const struct glob *glob);

/* True if something below the directory @path could match: prunes walks */
bool glob_may_match_below(const struct glob *glob, const char *path);

#endif /* POLICY_GLOB_H */
