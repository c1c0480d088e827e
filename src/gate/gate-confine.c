/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-confine.c - confine the gate, its resolver and cloche-tls
 *
 * tools/gen-gate-filter.c makes the system call filters from gate-confine.def.
 */

#include "gate/gate-confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#if defined(__x86_64__)
#include "gate/gate-filter-x86_64.h"
#elif defined(__aarch64__)
#include "gate/gate-filter-aarch64.h"
#endif

enum { FDS_MAX = 8192 };	/* Both sides and four pipe ends of each */

static void reset_signals(void)
{
	static const int of_terminal[] = {
		SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE,
	};
	sigset_t none;

	/* Real-time signals are not used, and would end the process anyway */
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
	const struct sys_caps none = { 0 };

	/* Without CAP_SETPCAP the bounding set stays; no_new_privs and no
	 * exec make it void
	 */
	for (int cap = 0; cap <= 63; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    sys_capset(&none) < 0)
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
	reset_signals();
	for (char **e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	(void)clearenv();
	if ((r = proc_die_with_parent(parent)) < 0)
		return fail(err, r, "the supervisor has ended");
	if ((r = proc_leave_streams()) < 0 ||
	    (r = proc_close_others(keep, n)) < 0)
		return fail(err, r, "cannot close descriptors: %s", strerror(-r));
	r = set_limits(err);
	return r < 0 ? r : drop_privileges(err);
}

/* What getaddrinfo() and its modules read; what does not exist is skipped */
static const char *const resolver_paths[] = {
	"/etc", "/lib", "/lib64", "/usr/lib", "/usr/lib64",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
	"/run/nscd", "/var/lib/sss",
};

/* Where OpenSSL looks for an authority by its hash, and where the links lead */
static const char *const tls_paths[] = {
	"/etc/ssl/certs", "/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates", "/etc/pki/ca-trust/extracted",
};

static const struct {
	const char *const *paths;
	size_t n;
} readable[CONFINED_KINDS] = {
	[CONFINED_RESOLVER] = { resolver_paths, ARRAY_SIZE(resolver_paths) },
	[CONFINED_TLS] = { tls_paths, ARRAY_SIZE(tls_paths) },
};

static int allow_reading(int ruleset, const char *path, struct err *err)
{
	struct landlock_path_beneath_attr attr = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
				  LANDLOCK_ACCESS_FS_READ_DIR,
	};
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	attr.parent_fd = fd;
	if (sys_landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH,
				  &attr) < 0)
		return fail_errno(err, "cannot allow '%s'", path);
	return 0;
}

/* A kernel without Landlock leaves the filter: the gate can open nothing then
 * either, its resolver whatever the user could
 */
static int restrict_files(enum confined kind, struct err *err)
{
	const int abi = sys_landlock_abi();
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = sys_landlock_fs(abi),
		.handled_access_net = abi >= 4 ? SYS_LANDLOCK_NET_BIND_TCP : 0,
		.scoped = abi >= 6 ? SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX |
				     SYS_LANDLOCK_SCOPE_SIGNAL : 0,
	};
	auto_close int fd = -1;
	int r = 0;

	if (!abi)
		return 0;
	fd = sys_landlock_create_ruleset(&attr);
	if (fd < 0)
		return fail_errno(err, "cannot make a Landlock ruleset");
	for (size_t i = 0; !r && i < readable[kind].n; i++)
		r = allow_reading(fd, readable[kind].paths[i], err);
	if (r < 0)
		return r;
	if (sys_landlock_restrict_self(fd) < 0)
		return fail_errno(err, "cannot enter the Landlock ruleset");
	return 0;
}

static int restrict_calls(enum confined kind, struct err *err)
{
	static const struct {
		const struct sock_filter *code;
		size_t len;
	} filters[CONFINED_KINDS] = {
		[CONFINED_GATE] = { gate_filter, ARRAY_SIZE(gate_filter) },
		[CONFINED_RESOLVER] = { resolver_filter,
					ARRAY_SIZE(resolver_filter) },
		[CONFINED_TLS] = { tls_filter, ARRAY_SIZE(tls_filter) },
	};
	const struct sock_fprog program = {
		(unsigned short)filters[kind].len,
		/* The kernel does not write through this */
		(struct sock_filter *)(uintptr_t)filters[kind].code,
	};

	if (sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return fail_errno(err, "cannot load the gate's filter");
	return 0;
}

int confine_seal(enum confined kind, struct err *err)
{
	const int r = restrict_files(kind, err);

	return r < 0 ? r : restrict_calls(kind, err);
}
