/* SPDX-License-Identifier: Apache-2.0 */
/* lib/who.h - which process of a sandbox holds a socket */

#ifndef LIB_WHO_H
#define LIB_WHO_H

#include <stdint.h>
#include <sys/types.h>

enum { WHO_THREADS_MAX = 2048 };	/* Looked at, of all processes together */

/* The process at or below @init that has the socket with this @inode open, as
 * seen from here; 0 if none has, or there is too much to look through. @first
 * is looked at first, if it is not 0: who was found last time.
 */
pid_t who_has(pid_t init, uint64_t inode, pid_t first);

#endif /* LIB_WHO_H */
