/* SPDX-License-Identifier: Apache-2.0 */
/* plan/resolve.h - many paths to their real ones, each directory looked at once */

#ifndef PLAN_RESOLVE_H
#define PLAN_RESOLVE_H

#include <sys/stat.h>

struct resolver;

struct resolver *resolver_new(void);
void resolver_free(struct resolver *r);

/* The real path of as much of the absolute @path as exists, the rest appended.
 * @st is of what stands at the result, links followed; st_mode is 0 if nothing
 * does. The caller frees.
 */
char *resolver_follow(struct resolver *r, const char *path, struct stat *st);

/* As resolver_follow(); if the last component is a symbolic link, *@ret_link
 * is its own path (the caller frees) and *@link what lstat() says of it,
 * else *@ret_link is NULL
 */
char *resolver_follow_both(struct resolver *r, const char *path,
			   struct stat *st, char **ret_link,
			   struct stat *link);

/* The errno of a look that failed, but not because something is missing or closed;
 * or 0
 */
int resolver_error(const struct resolver *r);

/* As resolver_follow(), for one path */
char *resolve_path(const char *path);

/* The nearest directory on the way to @path, or @path, if it is the user's own
 * and yet may not be looked into; else NULL. The caller frees.
 */
char *resolve_closed(const char *path);

/* The same, at no cost where no look was refused */
char *resolver_closed(const struct resolver *r, const char *path);

#endif /* PLAN_RESOLVE_H */
