/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/test-seccomp-live.c - the loaded filter against real system calls
 *
 * Each test shows first that a call gets past the kernel without the filter,
 * or gets an answer that is not the filter's; then that the filter answers.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "sandbox/seccomp.h"
#include "test.h"

static const uint64_t high = 1ULL << 32;

/* Errno of a call, or 0 if it worked */
static int try(long number, uint64_t a, uint64_t b, uint64_t c)
{
	return syscall(number, a, b, c, 0, 0, 0) < 0 ? errno : 0;
}

static int try_socket(uint64_t family, uint64_t type, uint64_t protocol)
{
	const long fd = syscall(SYS_socket, family, type, protocol);

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static int try_pair(int type)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void confine(const struct seccomp_config *config)
{
	struct err err = { 0 };
	int listener = -2;

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (seccomp_install(config, &listener, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	CHECK_INT(listener, -1);
}

static const struct seccomp_config strict;
static const struct seccomp_config unix_free = {
	.unix_sockets = SECCOMP_UNIX_ALLOW,
};

/* How many programs this process carries; -1 if the kernel does not say */
static long count_filters(void)
{
	const char *status = test_read("/proc/self/status");
	const char *line = strstr(status ? status : "", "Seccomp_filters:");

	return line ? strtol(line + strlen("Seccomp_filters:"), NULL, 10) : -1;
}

TEST(only_listed_socket_families_open)
{
	CHECK_INT(try_socket(AF_UNIX | high, SOCK_STREAM, 0), 0);
	CHECK_INT(try_socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), 0);
	CHECK_INT(try_socket(AF_INET, SOCK_STREAM, 0), 0);
	confine(&strict);

	for (uint64_t h = 0; h <= high; h += high) {
		CHECK_INT(try_socket(AF_UNIX | h, SOCK_STREAM, 0), EPERM);
		CHECK_INT(try_socket(AF_UNIX | h, SOCK_DGRAM | h, 0), EPERM);
		CHECK_INT(try_socket(AF_NETLINK | h, SOCK_RAW,
				     NETLINK_GENERIC | h), EAFNOSUPPORT);
		CHECK_INT(try_socket(AF_NETLINK | h, SOCK_RAW,
				     NETLINK_ROUTE | h), 0);
		CHECK_INT(try_socket(AF_INET | h, SOCK_RAW | h, 1), EPERM);
		CHECK_INT(try_socket(AF_INET | h, SOCK_PACKET | h, 1), EPERM);
		CHECK_INT(try_socket(AF_VSOCK | h, SOCK_STREAM, 0),
			  EAFNOSUPPORT);
		CHECK_INT(try_socket(AF_ALG | h, SOCK_SEQPACKET, 0),
			  EAFNOSUPPORT);
		CHECK_INT(try_socket(AF_PACKET | h, SOCK_RAW, 0), EAFNOSUPPORT);
		CHECK_INT(try_socket(AF_INET6 | h, SOCK_DGRAM | SOCK_CLOEXEC |
				     SOCK_NONBLOCK, 0), 0);
	}
}

TEST(no_combination_outside_the_list_opens_a_socket)
{
	static const int types[] = { 1, 2, 3, 4, 5, 6, 10 };

	confine(&strict);
	for (int i = 0; i < 256 * 32 * (int)ARRAY_SIZE(types); i++) {
		const int family = i % 256, protocol = i / 256 % 32;
		const int type = types[i / 256 / 32];
		const bool listed = (family == AF_INET || family == AF_INET6) ?
				    type <= SOCK_DGRAM :
				    family == AF_NETLINK && !protocol;

		if (!listed && !try_socket((uint64_t)family, (uint64_t)type,
					   (uint64_t)protocol))
			test_fail(__FILE__, __LINE__, "socket(%d, %d, %d)",
				  family, type, protocol);
	}
}

/* A datagram pair reaches any path; that is why it goes with the sockets. Where
 * those go by path, a listener that is gone refuses.
 */
TEST(datagram_socketpairs_follow_the_unix_socket_rule)
{
	const struct seccomp_config by_path = {
		.unix_sockets = SECCOMP_UNIX_BY_PATH,
	};
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int server = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct err err = { 0 };
	int pair[2], listener = -1;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/s", test_dir());
	CHECK_INT(bind(server, (const struct sockaddr *)&to, sizeof(to)), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	CHECK_INT(sendto(pair[0], "x", 1, 0, (const struct sockaddr *)&to,
			 sizeof(to)), 1);
	CHECK_INT(try_pair(SOCK_RAW), 0);

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(seccomp_install(&by_path, &listener, &err), 0);
	CHECK(listener >= 0);
	CHECK_INT(fcntl(listener, F_GETFD), FD_CLOEXEC);
	close(listener);
	CHECK_INT(try_pair(SOCK_DGRAM), ENOSYS);
	CHECK_INT(try_pair(SOCK_RAW), ENOSYS);
	CHECK_INT(try_socket(AF_UNIX, SOCK_DGRAM, 0), ENOSYS);
	CHECK_INT(try_socket(AF_UNIX, SOCK_RAW | high, 0), ENOSYS);
	CHECK_INT(try_pair(SOCK_STREAM), 0);
	CHECK_INT(try_pair(SOCK_SEQPACKET), 0);
	CHECK_INT(try_socket(AF_UNIX, SOCK_STREAM, 0), 0);

	confine(&strict);
	CHECK_INT(try_pair(SOCK_DGRAM), EPERM);
	CHECK_INT(try_pair(SOCK_STREAM), 0);
	CHECK_INT(try_socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
}

TEST(unix_sockets_open_when_allowed)
{
	confine(&unix_free);
	CHECK_INT(try_socket(AF_UNIX, SOCK_STREAM, 0), 0);
	CHECK_INT(try_socket(AF_UNIX, SOCK_DGRAM, 0), 0);
	CHECK_INT(try_pair(SOCK_DGRAM), 0);
	CHECK_INT(socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){ 0 }), -1);
	CHECK_INT(errno, EAFNOSUPPORT);
}

TEST(udp_sockets_are_refused_in_the_landlock_tier)
{
	const struct seccomp_config config = { .deny_udp = true };

	CHECK_INT(try_socket(AF_INET | high, SOCK_DGRAM | high, 0), 0);
	confine(&config);
	CHECK_INT(try_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), EPERM);
	CHECK_INT(try_socket(AF_INET6 | high, SOCK_DGRAM | high, 0), EPERM);
	CHECK_INT(try_socket(AF_INET, SOCK_STREAM, 0), 0);
}

/* A pipe says ENOTTY to every terminal request that reaches the kernel */
TEST(terminal_injection_requests_are_refused)
{
	static const unsigned int refused[] = {
		TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, 0x4b46, 0x4b49, 0x5606,
		0xaa00, TCXONC,
	};
	int fds[2];
	uint64_t fd;

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	fd = (uint64_t)fds[0];
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		CHECK_INT(try(SYS_ioctl, fd, refused[i] | high, 0), ENOTTY);
	confine(&strict);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CHECK_INT(try(SYS_ioctl, fd, refused[i], 0), EPERM);
		CHECK_INT(try(SYS_ioctl, fd, refused[i] | high, 0), EPERM);
		CHECK_INT(try(SYS_ioctl, fd, refused[i] | 1ULL << 63, 0),
			  EPERM);
	}
	CHECK_INT(try(SYS_ioctl, fd, TIOCSPGRP, 0), ENOTTY);
	CHECK_INT(try(SYS_ioctl, fd, TCXONC, 1), ENOTTY);	/* TCOON */
	CHECK_INT(try(SYS_ioctl, fd, FIONREAD, (uint64_t)(uintptr_t)fds), 0);
}

/* Where @before is what the kernel says to nonsense, or 0 where that depends */
static const struct call {
	long number;
	uint64_t a, b, c;
	int before, after;
} calls[] = {
	{ SYS_clone3, 0, 0, 0, EINVAL, ENOSYS },
	{ SYS_io_uring_setup, 0, 0, 0, 0, ENOSYS },
	{ SYS_io_uring_enter, UINT64_MAX, 0, 0, 0, ENOSYS },
	{ SYS_io_uring_register, UINT64_MAX, 0, 0, 0, ENOSYS },
	{ SYS_keyctl, UINT64_MAX, 0, 0, EOPNOTSUPP, ENOSYS },
	{ SYS_add_key, 0, 0, 0, EFAULT, ENOSYS },
	{ SYS_request_key, 0, 0, 0, EFAULT, ENOSYS },
	{ SYS_open_tree, UINT64_MAX, 0, 0x1000000, EINVAL, ENOSYS },
	{ SYS_move_mount, UINT64_MAX, 0, 0, 0, ENOSYS },
	{ SYS_fsopen, 0, 0, 0, 0, ENOSYS },
	{ SYS_mount_setattr, UINT64_MAX, 0, 0xffff, EINVAL, ENOSYS },
	{ 467 /* open_tree_attr */, UINT64_MAX, 0, 0x1000000, 0, ENOSYS },
	{ 458 /* listmount */, 0, 0, 0, 0, ENOSYS },
	{ SYS_kcmp, UINT64_MAX, UINT64_MAX, 0, ESRCH, EPERM },
	{ SYS_process_vm_readv, 1, 0, 0, 0, EPERM },
	{ SYS_process_vm_writev, 1, 0, 0, 0, EPERM },
	{ SYS_pidfd_getfd, UINT64_MAX, 0, 0, EBADF, EPERM },
	{ SYS_userfaultfd, 0xffff, 0, 0, 0, EPERM },
	{ SYS_bpf, UINT64_MAX, 0, 0, 0, EPERM },
	{ SYS_perf_event_open, 0, 0, 0, EFAULT, EPERM },
	{ SYS_open_by_handle_at, UINT64_MAX, 0, 0, 0, EPERM },
	{ SYS_name_to_handle_at, UINT64_MAX, 0, 0, EFAULT, EPERM },
	{ SYS_fanotify_init, UINT64_MAX, 0, 0, 0, EPERM },
	{ SYS_setns, UINT64_MAX, 0, 0, EBADF, EPERM },
	{ SYS_unshare, CLONE_NEWUSER | 1, 0, 0, EINVAL, EPERM },
	{ SYS_unshare, CLONE_NEWNS | 1 | (1ULL << 32), 0, 0, EINVAL, EPERM },
	{ SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, EINVAL, EPERM },
	{ SYS_clone, CLONE_NEWPID | CLONE_THREAD | (1ULL << 32), 0, 0, EINVAL,
	  EPERM },
	{ SYS_mount, 0, 0, 0, 0, EPERM },
	{ SYS_umount2, 0, 0xffff, 0, 0, EPERM },
	{ SYS_pivot_root, 0, 0, 0, 0, EPERM },
	{ SYS_chroot, 0, 0, 0, EFAULT, EPERM },
	{ SYS_mbind, 0, 0, 0xffff, EINVAL, EPERM },
	{ SYS_personality, READ_IMPLIES_EXEC, 0, 0, 0, EPERM },
	{ SYS_prctl, PR_SET_MM, 0xffff, 0, 0, EPERM },
	{ SYS_mknodat, UINT64_MAX, 0, S_IFCHR, 0, EPERM },
	{ SYS_mknodat, UINT64_MAX, 0, S_IFBLK | (1ULL << 32), 0, EPERM },
	{ SYS_mknodat, UINT64_MAX, 0, S_IFIFO, EFAULT, EFAULT },
	{ SYS_mknodat, UINT64_MAX, 0, S_IFREG | 04755, EFAULT, EPERM },
	{ SYS_fchmod, UINT64_MAX, 04755, 0, EBADF, EPERM },
	{ SYS_fchmod, UINT64_MAX, 02755, 0, EBADF, EBADF },
	{ SYS_fchmodat, UINT64_MAX, 0, 04000 | (1ULL << 32), EFAULT, EPERM },
	{ SYS_openat2, UINT64_MAX, 0, 0, EINVAL, ENOSYS },
	{ 0x40000000 | SYS_getpid, 0, 0, 0, 0, ENOSYS },	/* x32 */
	{ 2000, 0, 0, 0, ENOSYS, ENOSYS },
	{ -1, 0, 0, 0, ENOSYS, ENOSYS },
};

TEST(real_calls_get_the_documented_errno)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call *c = &calls[i];

		if (c->before && try(c->number, c->a, c->b, c->c) != c->before)
			test_fail(__FILE__, __LINE__, "call %ld, row %zu: %s before",
				  c->number, i, strerror(errno));
	}
	confine(&strict);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call *c = &calls[i];
		const int got = try(c->number, c->a, c->b, c->c);

		if (got != c->after)
			test_fail(__FILE__, __LINE__, "call %ld, row %zu: %s",
				  c->number, i, strerror(got));
	}
}

TEST(io_uring_setup_is_refused)
{
	uint64_t params[15] = { 0 };
	const uint64_t at = (uint64_t)(uintptr_t)params;

	if (try(SYS_io_uring_setup, 1, at, 0))
		test_skip("no io_uring here");
	confine(&strict);
	memset(params, 0, sizeof(params));
	CHECK_INT(try(SYS_io_uring_setup, 1, at, 0), ENOSYS);
}

/* Every refusal of the table. vhangup(): no terminal must be ours. */
TEST(every_refused_row_is_refused)
{
	struct seccomp_row row;
	size_t cursor = 0, refused = 0;

	(void)setsid();
	confine(&strict);
	while (seccomp_next_row(&cursor, &row)) {
		const bool eperm = !strncmp(row.action, "refused (EPERM)", 15);
		const bool enosys = !strncmp(row.action, "not there", 9);

		if (!eperm && !enosys)
			continue;
		CHECK_INT(try(row.number, UINT64_MAX, UINT64_MAX, UINT64_MAX),
			  eperm ? EPERM : ENOSYS);
		refused++;
	}
	CHECK(refused > 50);
}

static void *return_argument(void *argument)
{
	return argument;
}

TEST(threads_files_and_processes_work_under_the_filter)
{
	pthread_t thread;
	void *result = NULL;
	char mark;

	confine(&strict);
	CHECK_INT(pthread_create(&thread, NULL, return_argument, &mark), 0);
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK(result == &mark);
	CHECK_INT(test_in_child(abort) & 0x7f, SIGABRT);
	CHECK_INT(unshare(CLONE_FILES | CLONE_FS), 0);
	CHECK(personality(0xffffffff) >= 0);
	CHECK(personality(ADDR_NO_RANDOMIZE) >= 0);
	CHECK_INT(prctl(PR_SET_NAME, "renamed", 0, 0, 0), 0);
	CHECK(sys_landlock_abi() >= 0);
}

static void unshare_user(void)
{
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(errno);
}

TEST(nested_namespaces_are_refused_unless_allowed)
{
	const struct seccomp_config nested = { .nested_userns = true };

	if (test_in_child(unshare_user))
		test_skip("no user namespaces here");
	confine(&nested);
	CHECK_INT(test_in_child(unshare_user), 0);
	CHECK_INT(try(SYS_clone3, 0, 0, 0), EINVAL);
	CHECK_INT(try(SYS_keyctl, UINT64_MAX, 0, 0), ENOSYS);
	confine(&strict);
	CHECK_INT(WEXITSTATUS(test_in_child(unshare_user)), EPERM);
}

TEST(installing_without_no_new_privs_fails)
{
	struct err err = { 0 };
	int listener = -2;

	CHECK_INT(seccomp_install(&strict, &listener, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "no_new_privs");
	CHECK_INT(listener, -2);
	CHECK(count_filters() <= 0);
	CHECK_INT(try(SYS_clone3, 0, 0, 0), EINVAL);
}

static int add_filter(unsigned int nr, uint32_t answer, unsigned int flags)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {
		ARRAY_SIZE(code), (struct sock_filter *)(uintptr_t)code,
	};

	return sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &prog);
}

TEST(a_command_may_add_a_filter_but_no_listener)
{
	confine(&strict);
	CHECK_INT(add_filter(SYS_getppid,
			     SECCOMP_RET_ERRNO | EXDEV, 0), 0);
	CHECK_INT(try(SYS_getppid, 0, 0, 0), EXDEV);
	CHECK_INT(add_filter(SYS_getpgid, SECCOMP_RET_USER_NOTIF,
			     SECCOMP_FILTER_FLAG_NEW_LISTENER), -1);
	CHECK_INT(errno, EBUSY);
	CHECK_INT(try(SYS_seccomp, SECCOMP_SET_MODE_FILTER | high,
		      SECCOMP_FILTER_FLAG_NEW_LISTENER | high, 0), EBUSY);
	/* Nor do its answers lift ours */
	CHECK_INT(add_filter(SYS_mount, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_INT(try(SYS_mount, 0, 0, 0), EPERM);
}

TEST(an_existing_listener_has_its_own_error)
{
	const struct seccomp_config observe = {
		.observe = SECCOMP_OBSERVE_ON,
	};
	struct err err = { 0 };
	int listener = -2;

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK(add_filter(SYS_acct, SECCOMP_RET_USER_NOTIF,
			 SECCOMP_FILTER_FLAG_NEW_LISTENER) >= 0);
	CHECK_INT(seccomp_install(&observe, &listener, &err), -EBUSY);
	CHECK_CONTAINS(err.msg, "already listens");
	CHECK_INT(listener, -2);
	CHECK_INT(try(SYS_clone3, 0, 0, 0), EINVAL);	/* Nothing was loaded */
	confine(&strict);
	CHECK_INT(try(SYS_clone3, 0, 0, 0), ENOSYS);
	/* And inside our own sandbox as well */
	CHECK_INT(seccomp_install(&observe, &listener, &err), -EBUSY);
}
