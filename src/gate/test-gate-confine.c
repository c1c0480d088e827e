/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-gate-confine.c - the confinement of the gate and of its resolver */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "gate/gate-confine.h"

/* Run @fn in a child that is sealed as @kind; its status */
static int sealed(enum confined kind, int (*fn)(void))
{
	int status;
	const pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    confine_seal(kind, NULL) < 0)
			_exit(99);
		_exit(fn());
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int refused(int r)
{
	return r < 0 && (errno == EPERM || errno == EACCES);
}

static int gate_attempts(void)
{
	if (!refused(open("/etc/passwd", O_RDONLY)))
		return 1;
	if (!refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 2;
	if (!refused(socket(AF_NETLINK, SOCK_RAW, 0)))
		return 3;
	if (!refused(execl("/bin/true", "true", (char *)NULL)))
		return 4;
	if (fork() >= 0)
		return 5;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 6;
	if (!refused(kill(getppid(), 0)))
		return 7;
	if (socket(AF_INET, SOCK_STREAM, 0) < 0 ||
	    socket(AF_INET6, SOCK_STREAM, 0) < 0)
		return 8;
	/* No process has that number: Landlock would not even be asked */
	if (!refused((int)syscall(SYS_tgkill, INT_MAX, INT_MAX, 0)) ||
	    !refused((int)syscall(SYS_tgkill, getpid(), getpid(), 0)))
		return 9;
	return 0;
}

TEST(a_confined_gate_may_use_sockets_only)
{
	CHECK_INT(sealed(CONFINED_GATE, gate_attempts), 0);
}

enum { NO, YES, WEB, NSS, DATA, FORK, ORPHAN, SEE };

static const struct {
	long number;
	int who[CONFINED_KINDS];
} rows[] = {
#define CALL(name, gate, resolver, tls) { SYS_##name, { gate, resolver, tls } },
#ifdef __x86_64__
#define CALL_X86_64 CALL
#else
#define CALL_X86_64(name, gate, resolver, tls)
#endif
#include "gate/gate-confine.def"
#undef CALL
#undef CALL_X86_64
};

enum {
	NUMBERS = 1024,		/* More than there are */
	URETPROBE = 335,	/* The kernel's own, which no filter sees */
	UPROBE = 336,
};

/* What the table says about a call whose arguments are all wrong */
static bool is_allowed(enum confined kind, long number)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].number == number)
			return rows[i].who[kind] == YES;
	}
	return false;
}

/* Something of the number that is not treated as the table says, or 0. What is
 * refused is not done, and what is allowed can do nothing with such arguments
 * but say so; those that do not come back were tried by who got here.
 */
static int odd_one(enum confined kind)
{
	for (long i = 0; i < NUMBERS; i++) {
		if (i == SYS_exit || i == SYS_exit_group ||
		    i == SYS_rt_sigreturn ||
		    (i >= URETPROBE && i <= UPROBE))
			continue;
		errno = 0;
		if ((syscall(i, -1, -1, -1, -1, -1, -1) < 0 &&
		     errno == EPERM) == is_allowed(kind, i))
			return 1 + (int)(i % 90);
	}
	return 0;
}

static int odd_for_gate(void)
{
	return odd_one(CONFINED_GATE);
}

static int odd_for_resolver(void)
{
	return odd_one(CONFINED_RESOLVER);
}

static int odd_for_tls(void)
{
	return odd_one(CONFINED_TLS);
}

TEST(every_system_call_number_gets_the_action_of_its_row)
{
	CHECK_INT(sealed(CONFINED_TLS, odd_for_tls), 0);
	CHECK_INT(sealed(CONFINED_GATE, odd_for_gate), 0);
	CHECK_INT(sealed(CONFINED_RESOLVER, odd_for_resolver), 0);
}

static int tls_attempts(void)
{
	if (!refused(socket(AF_INET, SOCK_STREAM, 0)) ||
	    !refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 1;
	if (!refused(execl("/bin/true", "true", (char *)NULL)) || fork() >= 0)
		return 2;
	if (!refused(open("/etc/ssl/certs/new", O_WRONLY | O_CREAT, 0600)))
		return 3;
	if (sys_landlock_abi() && !refused(open("/etc/passwd", O_RDONLY)))
		return 4;
	if (open("/etc/ssl/certs", O_RDONLY | O_DIRECTORY) < 0)
		return 5;
	return 0;
}

TEST(a_confined_cloche_tls_may_use_sockets_and_read_certificates)
{
	CHECK_INT(sealed(CONFINED_TLS, tls_attempts), 0);
}

static int resolver_attempts(void)
{
	struct addrinfo *list = NULL;

	if (open("/etc/hosts", O_RDONLY) < 0)
		return 1;
	if (sys_landlock_abi() && !refused(open("/proc/self/status", O_RDONLY)))
		return 2;
	if (!refused(open("/etc/cloche-test", O_WRONLY | O_CREAT, 0600)))
		return 3;
	if (!refused(execl("/bin/true", "true", (char *)NULL)))
		return 4;
	if (!refused(socket(AF_PACKET, SOCK_RAW, 0)))
		return 5;
	if (getaddrinfo("localhost", NULL, NULL, &list))
		return 6;
	return 0;
}

TEST(a_confined_resolver_may_read_resolver_files_only)
{
	if (!sys_landlock_abi())
		test_skip("no Landlock here");
	CHECK_INT(sealed(CONFINED_RESOLVER, resolver_attempts), 0);
}

TEST(a_confined_process_inherits_only_listed_descriptors)
{
	const int keep = open("/dev/null", O_RDONLY);
	const int other = open("/dev/zero", O_RDONLY);
	int status;
	pid_t pid;

	CHECK_INT(setenv("SECRET", "value", 1), 0);
	pid = fork();
	if (!pid) {
		struct stat a, b;

		if (confine_inherit(&keep, 1, "test", NULL) < 0)
			_exit(1);
		if (getenv("SECRET") || fcntl(keep, F_GETFD) < 0 ||
		    fcntl(other, F_GETFD) >= 0)
			_exit(2);
		if (fstat(1, &a) < 0 || stat("/dev/null", &b) < 0 ||
		    a.st_rdev != b.st_rdev)
			_exit(3);
		if (prctl(PR_GET_DUMPABLE) || !prctl(PR_GET_NO_NEW_PRIVS, 0, 0,
						     0, 0))
			_exit(4);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}
