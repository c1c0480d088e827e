/* SPDX-License-Identifier: Apache-2.0 */
/* view/realpath.h - many paths to their real ones, each directory looked at once */

#ifndef VIEW_REALPATH_H
#define VIEW_REALPATH_H

#include <sys/stat.h>

struct realpath;

struct realpath *realpath_new(void);
void realpath_free(struct realpath *r);

/* The real path of as much of the absolute @path as exists, the rest appended.
 * @st is of what stands at the result, links followed; st_mode is 0 if nothing
 * does. The caller frees.
 */
char *realpath_follow(struct realpath *r, const char *path, struct stat *st);

/* As realpath_follow(); if the last component is a symbolic link, *@ret_link
 * is its own path (the caller frees) and *@link what lstat() says of it,
 * else *@ret_link is NULL
 */
char *realpath_follow_both(struct realpath *r, const char *path,
			   struct stat *st, char **ret_link,
			   struct stat *link);

/* The errno of a look that failed, but not because something is missing or closed;
 * or 0
 */
int realpath_error(const struct realpath *r);

/* As realpath_follow(), for one path */
char *realpath_find(const char *path);

/* The nearest directory on the way to @path, or @path, if it is the user's own
 * and yet may not be looked into; else NULL. The caller frees.
 */
char *realpath_is_closed(const char *path);

/* The same, at no cost where no look was refused */
char *realpath_closed(const struct realpath *r, const char *path);

#endif /* VIEW_REALPATH_H */
