/* SPDX-License-Identifier: Apache-2.0 */
/* run/profile-home.h - profile home: the checks, the command's program, ~/.gitconfig */

#ifndef RUN_PROFILE_HOME_H
#define RUN_PROFILE_HOME_H

struct err;
struct policy;
struct view;

/* Refuse a $HOME that profile home cannot make empty. 0, also in other profiles; or a
 * negative errno with a message.
 */
int profile_home_check(const struct policy *policy, struct err *err);

/* Show the program of the command, if it lies in the home: @name as execvp()
 * would take it, with @path to look in
 */
void profile_home_show_command(struct view *view, const char *name, const char *path);

/* $HOME may be a symbolic link in a hidden directory: show it there */
void profile_home_show_link(struct view *view);

/* git's settings for the home inside, from the safe part of the user's own: the
 * content of ~/.gitconfig. The caller frees.
 */
char *profile_home_gitconfig(const struct policy *policy);

#endif /* RUN_PROFILE_HOME_H */
