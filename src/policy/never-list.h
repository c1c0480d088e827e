/* SPDX-License-Identifier: Apache-2.0 */
/* policy/never-list.h - paths, sockets and hosts that only a rule written by hand allows
 *
 * `cloche learn` proposes no rule about these, and --ask does not ask about them.
 * Each function returns the reason, or NULL.
 */

#ifndef POLICY_NEVER_LIST_H
#define POLICY_NEVER_LIST_H

#include <stdbool.h>

struct policy;

/* @path, absolute: a secret, a file that programs execute or read settings from, a
 * directory with such a file, a directory of programs, the whole home, another user's
 * home. For reading and writing.
 */
const char *never_list_path(const struct policy *policy, const char *path);

/* @path, absolute, is in the home of another user */
bool never_list_is_other_home(const struct policy *policy, const char *path);

/* @path, absolute, is in a store of cloche's, which no rule opens: the socket of a session
 * is there, and what is connected runs commands in it
 */
bool never_list_is_ours(const struct policy *policy, const char *path);

/* The Unix socket @path: of root's, or of a daemon that acts for every client */
const char *never_list_socket(const char *path);

/* @text, a host with or without a port, is a metadata service, which gives the
 * machine's credentials to any client
 */
const char *never_list_host(const char *text);

#endif /* POLICY_NEVER_LIST_H */
