/* SPDX-License-Identifier: Apache-2.0 */
/* run/socket-owner.h - which process of a sandbox holds a socket */

#ifndef RUN_SOCKET_OWNER_H
#define RUN_SOCKET_OWNER_H

#include <stdint.h>
#include <sys/types.h>

enum { SOCKET_OWNER_THREADS_MAX = 2048 };	/* Looked at, of all processes together */

/* The process at or below @init that has the socket with this @inode open, as
 * seen from here; 0 if none has, or there is too much to look through. @first
 * is looked at first, if it is not 0: the process that was found last.
 */
pid_t socket_owner_find(pid_t init, uint64_t inode, pid_t first);

#endif /* RUN_SOCKET_OWNER_H */
