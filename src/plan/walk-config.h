/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk-config.h - where a repository's configuration leads git
 *
 * core.hooksPath, include.path and core.attributesFile name files that git
 * obeys like its own. Many projects have them in the working tree. Filters, aliases
 * and other settings name programs there.
 */

#ifndef PLAN_WALK_CONFIG_H
#define PLAN_WALK_CONFIG_H

struct view;

enum { WALK_INCLUDES_MAX = 32 };	/* Files that are read for one repository */

/* Hold on to what the configuration of @git_dir names in a writable place,
 * whether it is there or not
 */
void walk_config(struct view *view, const char *git_dir);
/* The same for the working tree @top alone, which points at it */
void walk_config_for(struct view *view, const char *git_dir, const char *top);

/* The same for what the user's own configuration names: a relative path is one in
 * every working tree, each of which was told as a @dir
 */
void walk_config_top(struct view *view, const char *dir);
void walk_config_user(struct view *view);

#endif /* PLAN_WALK_CONFIG_H */
