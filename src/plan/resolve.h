/* SPDX-License-Identifier: Apache-2.0 */
/* plan/resolve.h - many paths to their real ones, each directory looked at once */

#ifndef PLAN_RESOLVE_H
#define PLAN_RESOLVE_H

#include <stdbool.h>
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


#endif /* PLAN_RESOLVE_H */
