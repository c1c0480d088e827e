/* SPDX-License-Identifier: Apache-2.0 */
/* secret/harden.c - what a process does before it touches a secret */

#include "secret/harden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/err.h"

/* A store file must not get the number of a closed descriptor. Standard output is
 * opened for reading only, so that printing a value to it fails.
 */
static int open_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	}
	return 0;
}

int harden_process(struct err *err)
{
	/* 1, not 0: a core_pattern that is a pipe does not honour 0 */
	const struct rlimit core = { 1, 1 };
	struct rlimit lock;

	if (getauxval(AT_SECURE))
		return fail(err, -EPERM, "this copy is set-user-id or has capabilities, and refuses to run; install it without");
	if (open_standard_descriptors() < 0)
		return fail_errno(err, "cannot open /dev/null");
	(void)umask(077);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail_errno(err, "cannot forbid core dumps");
	/* Raising 0 to 1 may not be permitted; not being dumpable is the defence */
	(void)setrlimit(RLIMIT_CORE, &core);
	if (!getrlimit(RLIMIT_MEMLOCK, &lock) &&
	    lock.rlim_cur != lock.rlim_max) {
		lock.rlim_cur = lock.rlim_max;
		(void)setrlimit(RLIMIT_MEMLOCK, &lock);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return 0;
}
