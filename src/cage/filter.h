/* SPDX-License-Identifier: Apache-2.0 */
/* cage/filter.h - the words of syscalls.def and filters.def, as enums
 *
 * Shared by the generator (tools/gen-filter.c), what it writes
 * (filters-ARCH.h), the loader (cage/seccomp.c) and the tests.
 */

#ifndef CAGE_FILTER_H
#define CAGE_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

enum filter_class {
#define CLASS(id, words) CLASS_##id,
#include "cage/filters.def"
	CLASS_COUNT,
};

enum filter_program {
#define PROGRAM(id, name, parts, column, otherwise) PROGRAM_##id,
#include "cage/filters.def"
	PROGRAM_COUNT,
};

enum filter_verdict {
	VERDICT_ALLOW,
	VERDICT_EPERM,
	VERDICT_ENOSYS,
	VERDICT_EAFNOSUPPORT,
	VERDICT_EPROTONOSUPPORT,
	VERDICT_EBUSY,
	VERDICT_NOTIFY,
	VERDICT_KILL,		/* The whole process, by SIGSYS */
	VERDICT_COUNT,
};

/**
 * struct filter - One program, ready for the kernel
 * @name:	What a person calls it
 * @code:	The instructions
 * @len:	How many
 */
struct filter {
	const char *name;
	const struct sock_filter *code;
	unsigned short len;
};

#endif /* CAGE_FILTER_H */
