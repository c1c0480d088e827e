/* SPDX-License-Identifier: Apache-2.0 */
/* tests/harness/ns.h - namespaces for tests that keep the caller's user */

#ifndef HARNESS_NS_H
#define HARNESS_NS_H

/* A new user namespace with our own ids, and those of @flags (CLONE_NEW...). 0,
 * or a negative errno.
 */
int ns_enter(int flags);

/* Write @text to a file of /proc. 0, or a negative errno. */
int ns_put(const char *path, const char *text);

#endif /* HARNESS_NS_H */
