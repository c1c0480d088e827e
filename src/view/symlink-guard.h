/* SPDX-License-Identifier: Apache-2.0 */
/* view/symlink-guard.h - symbolic links that a confined command could have made */

#ifndef VIEW_SYMLINK_GUARD_H
#define VIEW_SYMLINK_GUARD_H

struct policy;
struct view;

/* Follow the absolute @path, each link looked at once. 0 with *@ret its real
 * path; what does not exist is appended as it is. 1 with *@ret the first link
 * on the way that a command could have planted: it lies in a writable root, in
 * the home or in a directory for temporary files; or it is a root whose
 * directory a command may write. Or a negative errno. The caller frees.
 */
int symlink_guard_follow(const struct policy *policy, const char *path, char **ret);

/* The first link on the way to the directory @path, absolute, that a command could
 * have planted in a project that it was run in; or NULL. The caller frees.
 */
char *symlink_guard_start(const char *path);

/* What the user's rules deny by its path is denied by each name that it would have
 * if a link on its way were a directory: for edits, while a command runs that may
 * have put the link there
 */
void symlink_guard_deny(struct view *view);

#endif /* VIEW_SYMLINK_GUARD_H */
