/* SPDX-License-Identifier: Apache-2.0 */
/* observe/emulate.h - a call made by the supervisor on the command's behalf
 *
 * A running sandbox keeps the mounts and the Landlock rules it started with, so
 * what a later edit of the settings allows is done here. In the landlock tier so
 * is every change of mode, owner, times and attributes, which Landlock does not
 * know. This is the only answer that grants something. It acts in the
 * directory, and on the file, whose inodes were decided about; it follows no
 * link, and hands in regular files only.
 */

#ifndef OBSERVE_EMULATE_H
#define OBSERVE_EMULATE_H

#include <stdbool.h>

struct notification;
struct sys_caps;

/* Make the call in @q, whose paths are resolved and decided about. @fd: for a
 * CALL_SETATTR of an open file, a copy of its descriptor; else -1. @one_user: the
 * command's user namespace has one user and one group. 0, or a negative errno which is
 * the call's result. For CALL_OPEN: a descriptor to install.
 */
int emulate(const struct notification *q, int fd, bool one_user);

/* True if the permissions of @path let the command read it, which has no capabilities */
bool emulate_may_read(const char *path);

/* Do without our capabilities for a while: the command has none, and what its
 * permissions refuse must not be done for it. 0, or a negative errno.
 */
int caps_drop(struct sys_caps *before);
void caps_restore(const struct sys_caps *before);

#endif /* OBSERVE_EMULATE_H */
