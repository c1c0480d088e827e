/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.h - paths as text: nothing here touches the file system */

#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>

/* The absolute form of @path as seen from the absolute @base: "//", "/./" and
 * trailing slashes collapsed, ".." resolved as text. The caller frees.
 */
char *path_resolve(const char *base, const char *path);

/* "@dir/@name", with one slash between them. The caller frees. */
char *path_join(const char *dir, const char *name);

/* True if @path is @dir or lies below it; both in the form of path_resolve() */
bool path_is_within(const char *dir, const char *path);

/* True if @path lies strictly below @dir */
bool path_is_below(const char *dir, const char *path);

/* The directory above; "/" is above itself. The caller frees. */
char *path_parent(const char *path);

/* Cut the absolute @path to the directory above it; false, and nothing is done, at "/" */
bool path_up(char *path);

/* The next directory of *@list, as in $PATH or NULL, which moves on; NULL at its end. The
 * caller frees.
 */
char *path_next_dir(const char **list);

/* A file name for @path alone: half of its SHA-256, no secret. The caller frees. */
char *path_id(const char *path);

/* The last component; points into @path ("" for "/") */
const char *path_base(const char *path);

/* True if a component of the absolute @path is called @name */
bool path_has(const char *path, const char *name);

/* How many components: 0 for "/", 2 for "/a/b" */
unsigned int path_depth(const char *path);

/* By component, so that what lies below "/a" follows it before "/a.b" */
int path_compare(const char *a, const char *b);
/* The same for qsort(), of an array of strings */
int path_compare_items(const void *a, const void *b);

#endif /* BASE_PATH_H */
