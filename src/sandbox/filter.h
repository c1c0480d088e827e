/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/filter.h - the columns of syscalls.def and filters.def, as enums
 *
 * Shared by the generator (tools/gen-filter.c), what it writes
 * (filters-ARCH.h), the loader (sandbox/seccomp.c) and the tests.
 */

#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <linux/filter.h>

enum filter_class {
#define CLASS(id, words) CLASS_##id,
#include "sandbox/filters.def"
	CLASS_COUNT,
};

/* A program is a set of these */
enum filter_part {
	BASE = 1 << 0,		/* In all but UDP_DENY */
	STRICT = 1 << 1,	/* No nested namespaces */
	UNIX_PATHS = 1 << 2,	/* Unix sockets by path: the listener decides */
	UNIX_DENY = 1 << 3,	/* No Unix sockets */
	OBSERVE = 1 << 4,	/* The listener is notified of changes */
	OBSERVE_FULL = 1 << 5,	/* And of all opens */
	OBSERVE_LATE = 1 << 6,	/* And of changes of what is open, and looks */
	UDP_DENY = 1 << 7,	/* On its own: where no namespace stops UDP */
};

enum filter_verdict {
	VERDICT_ALLOW,
	VERDICT_EPERM,
	VERDICT_ENOSYS,
	VERDICT_EAFNOSUPPORT,
	VERDICT_EPROTONOSUPPORT,
	VERDICT_EBUSY,
	VERDICT_NOTIFY,
	VERDICT_KILL,	/* The whole process, by SIGSYS */
	VERDICT_COUNT,
	VERDICT_REPORTED,	/* EPERM, from a listener where one observes */
};

/**
 * struct filter - One program, ready for the kernel
 * @code:	The instructions
 * @len:	How many
 */
struct filter {
	const struct sock_filter *code;
	unsigned short len;
};

#define FILTER(array)	{ array, sizeof(array) / sizeof(*(array)) }

#endif /* SANDBOX_FILTER_H */
