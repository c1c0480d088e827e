/* SPDX-License-Identifier: Apache-2.0 */
/* base/processes.h - what the processes of this machine use, from /proc */

#ifndef BASE_PROCESSES_H
#define BASE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TCP_SOCKETS_MAX = 1 << 14 };	/* Of one namespace and family that are read */

/**
 * struct process - One of them
 * @cpu_ms:	Its processor time
 * @memory:	Its resident bytes
 */
struct process {
	pid_t pid, parent;
	uint64_t cpu_ms, memory;
};

struct processes {
	struct process *v;
	size_t len, cap;
};

/* Read all of them; the caller frees @ret->v */
void processes_read(struct processes *ret);

/* True if the process @pid is @from, or descends from it */
bool processes_descend(const struct processes *all, pid_t pid, pid_t from);

/**
 * struct tcp_socket - A line of /proc/PID/net/tcp or tcp6
 * @address:	Its own, in hexadecimal as the kernel prints it
 * @state:	TCP_LISTEN and the like
 */
struct tcp_socket {
	char address[33];
	uint16_t port;
	unsigned int state;
	uint64_t inode;
};

/* Call @fn for each TCP socket in the network namespace of @pid ("self", or a number) */
void tcp_sockets_each(const char *pid, void (*fn)(void *arg, const struct tcp_socket *s),
		      void *arg);

#endif /* BASE_PROCESSES_H */
