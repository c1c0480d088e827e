/* SPDX-License-Identifier: Apache-2.0 */
/* net/seed.h - new sockets in the sandbox's network namespace, from outside */

#ifndef NET_SEED_H
#define NET_SEED_H

struct seed;

/* From a listener and a socket that were born there; both are taken, and
 * either may be -1: then there is nothing to be had
 */
struct seed *seed_new(int listener, int socket);

/* A fresh TCP socket, non-blocking, that can connect inside. The descriptor,
 * or a negative errno; @seed may be NULL.
 */
int seed_socket(struct seed *seed);

#endif /* NET_SEED_H */
