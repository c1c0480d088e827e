/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/test-seccomp-run.c - programs under the filter: what a listener is
 * asked, calls of another machine, and ordinary tools
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "sandbox/seccomp.h"
#include "test.h"

static int confine(const struct seccomp_config *config)
{
	struct err err = { 0 };
	int listener;

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (seccomp_install(config, &listener, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	return listener;
}

TEST(a_config_without_a_generated_filter_is_refused)
{
	const struct seccomp_config odd = { .unix_sockets = SECCOMP_UNIX_COUNT };
	struct err err = { 0 };
	int listener = -1;

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(seccomp_install(&odd, &listener, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "no such system call filter");
	CHECK_INT(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
}

#ifdef __x86_64__

/* A system call of a 32-bit program: eax, ebx, ecx, edx */
static int32_t call_i386(int32_t number, int32_t a, int32_t b, int32_t c)
{
	int32_t result;

	__asm__ volatile("int $0x80" : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void i386_getpid(void)
{
	_exit(call_i386(20, 0, 0, 0) == getpid() ? 0 : 1);
}

static void i386_socket(void)
{
	_exit(call_i386(359, AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : 1);
}

static void i386_socketcall(void)
{
	(void)call_i386(102, 1, 0, 0);
}

TEST(calls_of_a_32_bit_program_end_it_with_sigsys)
{
	void (*const all[])(void) = { i386_getpid, i386_socket,
				      i386_socketcall };
	const struct seccomp_config config = {
		.unix_sockets = SECCOMP_UNIX_ALLOW, .nested_userns = true,
	};

	if (test_in_child(i386_getpid) || test_in_child(i386_socket))
		test_skip("this kernel runs no 32-bit calls");
	CHECK_INT(confine(&config), -1);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const int status = test_in_child(all[i]);

		CHECK(WIFSIGNALED(status));
		CHECK_INT(WTERMSIG(status), SIGSYS);
	}
}

#endif

/* The supervisor of a listener: answers every question with EXDEV until the
 * last process under the filter is gone; returns how many it was asked.
 */
static int answer_all(int listener)
{
	struct pollfd poll_fd = { .fd = listener, .events = POLLIN };
	int asked = 0;

	for (;;) {
		struct seccomp_notif ask = { 0 };
		struct seccomp_notif_resp answer = { .error = -EXDEV };

		CHECK(poll(&poll_fd, 1, -1) == 1);
		if (!(poll_fd.revents & POLLIN))
			return asked;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) < 0)
			continue;
		answer.id = ask.id;
		CHECK_INT(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer),
			  0);
		asked++;
	}
}

/* Run @fn under @config with a supervisor; returns how often it was asked */
static int supervise(const struct seccomp_config *config, void (*fn)(void))
{
	int pair[2], listener = -1, status, asked;
	size_t count = 1;
	char byte;
	pid_t pid;

	CHECK_INT(socket_pair(pair), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		listener = confine(config);
		CHECK(listener >= 0);
		CHECK_INT(socket_send(pair[1], "", 1, &listener, 1), 0);
		close(listener);
		fn();
		_exit(0);
	}
	CHECK_INT(socket_recv(pair[0], &byte, 1, &listener, &count), 1);
	CHECK_INT(count, 1);
	asked = answer_all(listener);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	return asked;
}

static int try(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return syscall(number, a, b, c, d, 0, 0) < 0 ? errno : 0;
}

static const uint64_t here = (uint64_t)AT_FDCWD;

static uint64_t path(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

static void ask_changes(void)
{
	static const int flags[] = {
		O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
		O_WRONLY | O_APPEND, O_TMPFILE | O_RDWR,
	};
	static const struct open_how how = { .flags = O_RDONLY };
	const uint64_t none = path("/none/none");

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		CHECK_INT(try(SYS_openat, here, none,
			      (uint64_t)flags[i] | 1ULL << 32, 0), EXDEV);
	CHECK_INT(try(SYS_openat2, here, none, path((const char *)&how),
		      sizeof(how)), ENOSYS);
	CHECK_INT(try(SYS_mkdirat, here, none, 0700, 0), EXDEV);
	CHECK_INT(try(SYS_unlinkat, here, none, 0, 0), EXDEV);
	CHECK_INT(try(SYS_renameat2, here, none, here, none), EXDEV);
	CHECK_INT(try(SYS_linkat, here, none, here, none), EXDEV);
	CHECK_INT(try(SYS_symlinkat, none, here, none, 0), EXDEV);
	CHECK_INT(try(SYS_truncate, none, 0, 0, 0), EXDEV);
	CHECK_INT(try(SYS_fchmodat, here, none, 0600, 0), EXDEV);
	CHECK_INT(try(SYS_mknodat, here, none, S_IFIFO | 0600, 0), EXDEV);
	CHECK_INT(try(SYS_connect, UINT64_MAX, 0, 0, 0), EXDEV);
	CHECK_INT(try(SYS_bind, UINT64_MAX, 0, 0, 0), EXDEV);
	/* An errno of ours goes before the listener */
	CHECK_INT(try(SYS_mknodat, here, none, S_IFCHR | 0600, 0), EPERM);
}

static void ask_reads(void)
{
	CHECK_INT(try(SYS_openat, here, path("/none"), O_RDONLY | O_NOFOLLOW,
		      0), ENOENT);
	CHECK_INT(try(SYS_fchmod, UINT64_MAX, 0, 0, 0), EBADF);
	CHECK_INT(try(SYS_utimensat, here, path("/none/none"), 0, 0), ENOENT);
	CHECK_INT(try(SYS_newfstatat, here, path("/none"), 0, 0), ENOENT);
}

TEST(the_observer_is_notified_of_writes_only)
{
	const struct seccomp_config config = { .observe = SECCOMP_OBSERVE_ON };

	CHECK_INT(supervise(&config, ask_reads), 0);
	CHECK_INT(supervise(&config, ask_changes), 16);
}

static void ask_full(void)
{
	CHECK_INT(try(SYS_openat, here, path("/none"), O_RDONLY, 0), EXDEV);
	CHECK_INT(try(SYS_openat, here, path("/none"), O_WRONLY, 0), EXDEV);
}

TEST(full_observation_notifies_reads)
{
	const struct seccomp_config config = {
		.observe = SECCOMP_OBSERVE_FULL,
	};

	CHECK_INT(supervise(&config, ask_full), 2);
}

static void ask_addresses(void)
{
	CHECK_INT(try(SYS_connect, UINT64_MAX, 0, 0, 0), EXDEV);
	CHECK_INT(try(SYS_bind, UINT64_MAX, 0, 0, 0), EXDEV);
	CHECK_INT(try(SYS_openat, here, path("/none"), O_WRONLY, 0), ENOENT);
}

TEST(unix_sockets_by_path_notify_without_an_observer)
{
	const struct seccomp_config config = {
		.unix_sockets = SECCOMP_UNIX_BY_PATH,
	};

	CHECK(seccomp_wants_listener(&config));
	CHECK_INT(supervise(&config, ask_addresses), 2);
}

static void change_after_supervisor(void)
{
	char byte;

	CHECK_INT(read(STDIN_FILENO, &byte, 1), 0);	/* Listener closed */
	CHECK_INT(try(SYS_mkdirat, here, path("/none/none"), 0700, 0), ENOSYS);
}

/* A supervisor that is gone must not mean that everything is allowed */
TEST(observed_calls_fail_when_the_supervisor_is_dead)
{
	const struct seccomp_config config = { .observe = SECCOMP_OBSERVE_ON };
	int gate[2], pair[2], listener = -1, status;
	size_t count = 1;
	char byte;
	pid_t pid;

	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	CHECK_INT(socket_pair(pair), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(gate[0], STDIN_FILENO);
		close(gate[1]);
		listener = confine(&config);
		CHECK_INT(socket_send(pair[1], "", 1, &listener, 1), 0);
		close(listener);
		change_after_supervisor();
		_exit(0);
	}
	CHECK_INT(socket_recv(pair[0], &byte, 1, &listener, &count), 1);
	close(listener);
	close(gate[1]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

/* Each must do the same under the strictest filter as it does without */
static const struct tool {
	const char *program, *script;
} tools[] = {
	{ "/bin/ls", NULL },
	{ "/bin/sh", "set -e; cd \"$1\"; rm -f g h s; echo a >f; mkdir -p d; cp -a f d/f;"
		     " tar cf t d; tar xf t; ls -l | sort | grep -q f;"
		     " mkfifo p; (echo x >p &) ; read x <p; chmod 600 f;"
		     " mv f g; ln g h; ln -s g s; rm -rf d t p" },
	{ "python3", "set -e; cd \"$1\"; python3 -c '\n"
		     "import socket, subprocess, threading, os, tempfile\n"
		     "import multiprocessing.dummy, ssl, getpass, asyncio\n"
		     "socket.socketpair(); os.getrandom(4)\n"
		     "s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()\n"
		     "c = socket.create_connection(s.getsockname())\n"
		     "subprocess.run([\"true\"], check=True)\n"
		     "threading.Thread(target=print).start()\n"
		     "asyncio.run(asyncio.sleep(0))\n"
		     "print(socket.if_nameindex())'" },
	{ "git", "set -e; cd \"$1\"; rm -rf r; git init -q r; cd r;"
		 " echo a >f; git add f; git -c user.name=a -c user.email=a@b"
		 " commit -qm x; git gc -q; git clone -q . ../c; rm -rf ../c" },
	{ "node", "cd \"$1\"; node -e '\n"
		  "const c = require(\"child_process\"), f = require(\"fs\");\n"
		  "const n = require(\"net\");\n"
		  "f.writeFileSync(\"n\", \"x\"); c.execSync(\"true\");\n"
		  "new (require(\"worker_threads\").Worker)(\"\", {eval: true});\n"
		  "const s = n.createServer(k => k.end()).listen(0, () =>\n"
		  "  n.connect(s.address().port).on(\"close\", () =>\n"
		  "    s.close()).resume());\n"
		  "f.readFile(\"n\", () => {});'" },
	{ "gcc", "set -e; cd \"$1\"; echo 'int main(void){return 0;}' >a.c;"
		 " gcc -o a a.c; ./a" },
};

static bool is_installed(const char *program)
{
	char text[128];

	snprintf(text, sizeof(text), "command -v %s >/dev/null", program);
	switch (fork()) {
	case 0:
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(1);
	default: {
		int status = -1;

		(void)wait(&status);
		return !status;
	}
	}
}

static int run_tool(const struct tool *tool, const struct seccomp_config *config)
{
	const pid_t pid = fork();
	int status = -1;

	CHECK(pid >= 0);
	if (!pid) {
		const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		if (config)
			(void)confine(config);
		if (tool->script)
			execl("/bin/sh", "sh", "-c", tool->script, "sh",
			      test_dir(), (char *)NULL);
		else
			execl(tool->program, tool->program, "/", (char *)NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(common_programs_run_under_the_filter)
{
	const struct seccomp_config strict = { 0 };
	int ran = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (!is_installed(tools[i].program)) {
			printf("# %s is not installed\n", tools[i].program);
			continue;
		}
		if (run_tool(&tools[i], NULL) != 0)
			test_fail(__FILE__, __LINE__, "%s fails without a filter",
				  tools[i].program);
		if (run_tool(&tools[i], &strict) != 0)
			test_fail(__FILE__, __LINE__, "%s fails under the filter",
				  tools[i].program);
		ran++;
	}
	CHECK(ran >= 2);
}
