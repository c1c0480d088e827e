/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-watched.c - a child whose calls an observer is asked about */

#include "observe/test-watched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "test.h"
#include "observe/notification.h"

enum { NR_MAX = 512 };

static bool is_fixed(const char *name, size_t n)
{
	static const char *const names[] = { "fixed", ".mcp.json", ".vscode" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (n == strlen(names[i]) && !strncmp(name, names[i], n))
			return true;
	}
	return n > 5 && !strncmp(name + n - 5, ".deny", 5);
}

static bool has_fixed(const char *path)
{
	while (*path) {
		const size_t n = strcspn(++path, "/");

		if (is_fixed(path, n))
			return true;
		path += n;
	}
	return false;
}

static void verdict(enum observer_op op, const char *path,
		    struct observer_verdict *ret)
{
	const bool inside = path_is_within(test_path("work"), path);

	*ret = (struct observer_verdict) { .reason = "allowed" };
	if (op == OBSERVER_READ)
		return;
	if (inside && has_fixed(path))
		*ret = (struct observer_verdict) {
			.answer = OBSERVER_DENIED, .reason = "protected",
			.rule_key = "protect.def" };
	else if (!inside)
		*ret = (struct observer_verdict) {
			.answer = OBSERVER_OUTSIDE,
			.reason = "outside the writable paths",
			.rule_key = "sandbox.filesystem.allowWrite" };
}

static bool is_fast(const char *path)
{
	return path_is_within(test_path("work"), path) && !has_fixed(path);
}

static void keep(void *arg, const struct violation *v)
{
	struct watched *w = arg;

	if (w->len < WATCHED_MAX)
		violation_copy(&w->v[w->len++], v);
}

static void bind_read_only(const char *path)
{
	CHECK_INT(mount(path, path, NULL, MS_BIND, NULL), 0);
	CHECK_INT(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY |
			MS_NOSUID | MS_NODEV, NULL), 0);
}

static void enter(void)
{
	test_enter(CLONE_NEWNS);
	CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	bind_read_only(test_path("out"));
	bind_read_only(test_path("work/fixed"));
	CHECK_INT(chdir(test_path("work")), 0);
}

/* All rows of calls.def; opens only with the flags of a writer, and no socket(), which
 * is asked about for datagram sockets alone
 */
static int install(void)
{
	static struct sock_filter code[NR_MAX * 2];
	struct sock_fprog program = { .filter = code };
	const uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	unsigned short n = 0;
	int fd;

#define LOAD(field) code[n++] = (struct sock_filter)BPF_STMT( \
	BPF_LD | BPF_W | BPF_ABS, field)
#define RETURN(what) code[n++] = (struct sock_filter)BPF_STMT( \
	BPF_RET | BPF_K, what)
#define SKIP_UNLESS(test, k, count) code[n++] = (struct sock_filter)BPF_JUMP( \
	BPF_JMP | (test) | BPF_K, k, 0, count)

	LOAD(offsetof(struct seccomp_data, nr));
	for (int nr = 0; nr < NR_MAX; nr++) {
		const struct call *c = call_find(nr);

		if (!c || c->what == CALL_SOCKET || c->what == CALL_SOCKETPAIR)
			continue;
		if (c->what == CALL_OPEN) {
			SKIP_UNLESS(BPF_JEQ, (uint32_t)nr, 4);
			LOAD((uint32_t)(offsetof(struct seccomp_data, args) +
					8 * (size_t)c->flags));
			SKIP_UNLESS(BPF_JSET, writes, 1);
			RETURN(SECCOMP_RET_USER_NOTIF);
			RETURN(SECCOMP_RET_ALLOW);
		} else {
			SKIP_UNLESS(BPF_JEQ, (uint32_t)nr, 1);
			RETURN(SECCOMP_RET_USER_NOTIF);
		}
	}
	RETURN(SECCOMP_RET_ALLOW);
	program.len = n;
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	fd = sys_seccomp(SECCOMP_SET_MODE_FILTER,
			 SECCOMP_FILTER_FLAG_NEW_LISTENER |
			 SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (fd < 0)
		test_skip("no seccomp listener here: %s", strerror(errno));
	return fd;
}

/* A capability would let the child write past permissions */
static void drop_capabilities(void)
{
	struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
	uint32_t data[6] = { 0 };

	CHECK_INT(syscall(SYS_capset, &header, data), 0);
}

static void __attribute__((noreturn)) run_child(const struct watched *w,
						int socket,
						int (*fn)(void *), void *arg)
{
	int fd = -1;

	enter();
	drop_capabilities();
	if (!w->no_filter)
		fd = install();
	CHECK_INT(socket_send(socket, "x", 1, &fd, fd >= 0), 0);
	close_fd(&fd);
	close(socket);
	_exit(fn(arg));
}

static void observe(struct watched *w, int listener)
{
	const struct violation_sink sink = { keep, w };
	struct observer_config config = w->config;
	struct observer *o;
	int r = 0;

	config.listener = listener;
	config.sink = &sink;
	config.rules = &w->rules;
	if (!w->rules.verdict)
		w->rules.verdict = verdict;
	if (!w->slow)
		w->rules.is_fast = is_fast;
	o = observer_new(&config);
	while (!r) {
		struct pollfd p = { .fd = observer_fd(o), .events = POLLIN };

		CHECK(poll(&p, 1, -1) == 1);
		r = observer_dispatch(o, (uint32_t)p.revents);
	}
	CHECK_INT(r, 1);
	w->stats = observer_stats(o);
	observer_free(o);
}

void watched_run(struct watched *w, int (*fn)(void *arg), void *arg)
{
	int pair[2], listener = -1;
	size_t nfds = 1;
	pid_t pid;
	char c;

	for (size_t i = 0; i < w->len; i++)
		violation_done(&w->v[i]);
	w->len = 0;
	(void)mkdir(test_path("work"), 0755);
	(void)mkdir(test_path("out"), 0755);
	test_write(test_path("work/fixed"), "fixed");
	CHECK_INT(socket_pair(pair), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(pair[0]);
		run_child(w, pair[1], fn, arg);
	}
	close(pair[1]);
	if (socket_recv(pair[0], &c, 1, &listener, &nfds) == 1 && nfds)
		observe(w, listener);
	CHECK_INT(waitpid(pid, &w->status, 0), pid);
	close(pair[0]);
	if (WIFEXITED(w->status) && WEXITSTATUS(w->status) == 77)
		test_skip("see above");
}

const struct violation *watched_only(const struct watched *w)
{
	if (w->len != 1) {
		for (size_t i = 0; i < w->len; i++)
			printf("# %s %s\n", w->v[i].op, w->v[i].target);
		test_fail(__FILE__, __LINE__, "%zu records, not 1", w->len);
	}
	return &w->v[0];
}
