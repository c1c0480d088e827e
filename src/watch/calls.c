/* SPDX-License-Identifier: Apache-2.0 */
/* watch/calls.c - system calls as rows of a table */

#include "watch/calls.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>
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

/* It would make a program that runs as its owner, for everybody */
static bool lends_rights(const struct seccomp_data *call)
{
	switch (call->nr) {
#ifdef SYS_chmod
	case SYS_chmod:
	case SYS_creat:
#endif
	case SYS_fchmod:
		return call->args[1] & S_ISUID;
	case SYS_fchmodat:
	case SYS_fchmodat2:
		return call->args[2] & S_ISUID;
	default:
		return false;
	}
}

bool call_may_go_on(const struct seccomp_data *call, bool nested)
{
	/* What is a process's own: no namespace, nor what is not known yet */
	const uint32_t own = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_VM |
			     CLONE_SIGHAND | CLONE_THREAD;
	const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP |
				    CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	const uint32_t flags = (uint32_t)call->args[0];

	if (!nested && call->nr == SYS_unshare && (flags & ~own))
		return false;
	if (!nested && call->nr == SYS_clone && (flags & namespaces))
		return false;
	return call_find(call->nr) && !lends_rights(call);
}
