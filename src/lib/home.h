/* SPDX-License-Identifier: Apache-2.0 */
/* lib/home.h - profile home: is there a home to hide, and what shall run in it */

#ifndef LIB_HOME_H
#define LIB_HOME_H

struct err;
struct policy;
struct view;

/* Refuse a $HOME that cannot be made empty. 0, or a negative errno with words.
 */
int home_check(const struct policy *policy, struct err *err);

/* Show the program of the command, if it lies in the home: @name as execvp()
 * would take it, with @path to look in
 */
void home_show_command(struct view *view, const char *name, const char *path);

/* $HOME may be a symbolic link in a hidden directory: show it there */
void home_show_link(struct view *view);

#endif /* LIB_HOME_H */
