/* SPDX-License-Identifier: Apache-2.0 */
/* watch/calls.c - system calls as rows of a table */

#include "watch/calls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/own.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452	/* The same on every architecture */
#endif

#define HERE CALL_HERE
#define NO CALL_NO

static const struct call calls[] = {
#define CALL(name, what, dir, path, dir2, path2, flags) \
	{ SYS_##name, #name, CALL_##what, dir, path, dir2, path2, flags },
#include "watch/calls.def"
#undef CALL
};

const struct call *call_find(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].nr == nr)
			return &calls[i];
	}
	return NULL;
}
