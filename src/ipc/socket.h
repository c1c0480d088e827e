/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/socket.h - messages and descriptors over a socket pair */

#ifndef IPC_SOCKET_H
#define IPC_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum { SOCKET_FDS_MAX = 128 };	/* Descriptors in one message */

/* A SOCK_SEQPACKET pair, close-on-exec. 0 or a negative errno. */
int socket_pair(int ret[2]);

/* Send @n bytes (at least 1) and @nfds descriptors as one message. 0 or
 * -errno; never raises SIGPIPE.
 */
int socket_send(int fd, const void *data, size_t n, const int *fds, size_t nfds);

/* Record why a send failed, "@what: ..."; returns @r */
int socket_fail(int r, const char *what, struct err *err);

/* Receive one message: the bytes, 0 at the end, or -errno. *@nfds says how
 * many descriptors @fds has space for and becomes how many came; they are
 * close-on-exec and the caller's. With too many, all are closed: -EMSGSIZE.
 */
ssize_t socket_recv(int fd, void *data, size_t n, int *fds, size_t *nfds);

/* Does a Unix socket of this network namespace listen at the inode @ino? 1, 0, or
 * a negative errno. The kernel tells numbers only, so that another file system's
 * may be meant.
 */
int socket_unix_listens(ino_t ino);

/* The number of the inode that the Unix socket @fd of this network namespace is
 * bound to, its low 32 bits; or a negative errno
 */
int64_t socket_unix_bound(int fd);

#endif /* IPC_SOCKET_H */
