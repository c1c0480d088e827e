/* SPDX-License-Identifier: Apache-2.0 */
/* net/confine.c - what a forked process must forget of its parent */

#include "net/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"

enum {
	FDS_MAX = 8192,		/* Both sides and four pipe ends of each */
	KEEP_MAX = 256,
};

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all descriptors above the standard streams but @keep */
static int close_others(const int *keep, size_t n, struct err *err)
{
	int sorted[KEEP_MAX];
	unsigned int from = 3;

	if (n > KEEP_MAX)
		return fail(err, -EMFILE, "too many descriptors to keep");
	memcpy(sorted, keep, n * sizeof(*keep));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0; i <= n; i++) {
		const unsigned int to = i < n ? (unsigned int)sorted[i] : ~0u;

		if (to > from && sys_close_range(from, i < n ? to - 1 : to,
						 0) < 0)
			return fail_errno(err, "cannot close descriptors");
		if (to >= from)
			from = to + 1;
	}
	return 0;
}

/* The command's own streams must end when it does, so nobody may hold them */
static int leave_streams(struct err *err)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		return fail_errno(err, "cannot leave the standard streams");
	if (fd > 2)
		(void)close(fd);
	return 0;
}

static void forget_environment(void)
{
	for (char **e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	(void)clearenv();
}

static void reset_signals(void)
{
	static const int of_terminal[] = {
		SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE,
	};
	sigset_t none;

	/* Nobody uses the real-time ones, and what they do is an end anyway */
	for (int i = 1; i < SIGSYS + 1; i++)
		(void)signal(i, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(of_terminal); i++)
		(void)signal(of_terminal[i], SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
}

static int drop_privileges(struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const struct __user_cap_data_struct none[2] = { { 0 } };

	/* Without CAP_SETPCAP the bounding set stays; no_new_privs and no
	 * exec make it void
	 */
	for (int cap = 0; cap <= 63; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		return fail_errno(err, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "cannot set no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail_errno(err, "cannot hide memory from others");
	return 0;
}

static int set_limits(struct err *err)
{
	const struct rlimit nothing = { 0, 0 };
	struct rlimit fds;

	if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
		return fail_errno(err, "cannot read the descriptor limit");
	fds.rlim_cur = fds.rlim_max < FDS_MAX ? fds.rlim_max : FDS_MAX;
	fds.rlim_max = fds.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &fds) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &nothing) < 0 ||
	    setrlimit(RLIMIT_CORE, &nothing) < 0)
		return fail_errno(err, "cannot set limits");
	return 0;
}

int confine_inherit(const int *keep, size_t n, const char *name,
		    struct err *err)
{
	const pid_t parent = getppid();
	int r;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return fail_errno(err, "cannot end with the supervisor");
	if (getppid() != parent)
		return fail(err, -EOWNERDEAD, "the supervisor is gone");
	reset_signals();
	forget_environment();
	r = leave_streams(err);
	if (!r)
		r = close_others(keep, n, err);
	if (!r)
		r = set_limits(err);
	return r < 0 ? r : drop_privileges(err);
}
