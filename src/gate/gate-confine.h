/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-confine.h - confine a process before it reads network data */

#ifndef GATE_GATE_CONFINE_H
#define GATE_GATE_CONFINE_H

#include <stddef.h>

struct err;

/* The columns of gate/gate-confine.def */
enum confined {
	CONFINED_GATE,		/* Sockets that it has or makes; no files */
	CONFINED_RESOLVER,	/* What getaddrinfo() needs, and forking */
	CONFINED_TLS,		/* Sockets that it is given; certificates */
	CONFINED_KINDS,
};

/* First step, common to all: forget the environment, the standard streams and
 * all descriptors but @keep; default signals, but those of a terminal
 * ignored; no privilege, no_new_privs, no core dump; end with the parent.
 * @name is what ps shows. 0 or a negative errno with a message.
 */
int confine_inherit(const int *keep, size_t n, const char *name,
		    struct err *err);

/* Last step: Landlock and the system call filter. After it the process has the
 * descriptors it had before, and can open what its kind says.
 */
int confine_seal(enum confined kind, struct err *err);

#endif /* GATE_GATE_CONFINE_H */
