/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe-program.c - programs that features need; IPv6 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "doctor/probe.h"
#include "policy/firewall-mark.h"

enum { ANSWER_MAX = 4096 };

/* Run it with its output in @out (or nowhere): its exit status, or -errno */
static int run(const char *const *argv, struct buf *out)
{
	char path[64];
	int pipes[2], status;
	pid_t pid;

	if (!proc_find_program(argv[0], path, sizeof(path)))
		return -ENOENT;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (!pid) {
		const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		(void)dup2(null, 0);
		(void)dup2(pipes[1], 1);
		(void)dup2(null, 2);
		(void)signal(SIGPIPE, SIG_DFL);		/* pasta takes an ignored one for a failure */
		if (chdir("/") == 0)
			(void)execv(path, (char *const *)(size_t)argv);
		_exit(127);
	}
	(void)close(pipes[1]);
	if (pid > 0 && out)
		(void)fs_read_fd(pipes[0], ANSWER_MAX, out, NULL);
	status = reap_wait(pid);
	(void)close(pipes[0]);
	if (pid < 0)
		return -EAGAIN;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

void probe_pasta(struct probe_result *r)
{
	static const char *const argv[] = { "pasta", "--version", NULL };
	auto_buf struct buf out = { 0 };
	const int status = run(argv, &out);

	if (status != 0) {
		probe_no(r, PROBE_pasta, CAUSE_NONE,
			 status < 0 ? -status : 0);
		return;
	}
	probe_detail(r, "%.*s", (int)strcspn(buf_str(&out), "\n"),
		     buf_str(&out));
}

static int try_nft(void)
{
	static const char *const argv[] = { "nft", "list", "tables", NULL };
	const int status = sys_keep_caps(1ULL << CAP_NET_ADMIN) < 0 ? -errno :
			   run(argv, NULL);

	return status > 0 ? -EOPNOTSUPP : status;
}

/* In a network of its own, where even we may ask it something; root may without */
void probe_nft(struct probe_result *r)
{
	bool tried = false;
	int error = -probe_inside(CLONE_NEWNET, try_nft, &tried);

	if (!tried && !geteuid()) {
		error = -try_nft();
		tried = true;
	}
	if (!error)
		return;
	probe_no(r, PROBE_nft, tried ? CAUSE_NONE : why_no_userns(error),
		 error);
	probe_detail(r, "%s", tried ? strerror(error) :
				      "user namespaces are refused");
}

void probe_firewall(struct probe_result *r)
{
	if (firewall_mark_is_missing())
		probe_no(r, PROBE_firewall, CAUSE_NONE, 0);
}

void probe_ipv6(struct probe_result *r)
{
	const struct sockaddr_in6 local = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&local,
			   sizeof(local)) < 0)
		probe_no(r, PROBE_ipv6, CAUSE_NONE, errno);
}

void probe_git(struct probe_result *r)
{
	static const char *const argv[] = {
		"git", "config", "--get", "safe.bareRepository", NULL,
	};
	auto_buf struct buf out = { 0 };
	const int status = run(argv, &out);

	if (status == -ENOENT) {
		r->mark = MARK_FACT;
		probe_detail(r, "git is not installed");
		return;
	}
	if (strcmp(buf_str(&out), "explicit\n") != 0)
		probe_no(r, PROBE_git, CAUSE_NONE, 0);
}

void probe_cgroup(struct probe_result *r)
{
	/* The supervisor tries it: see doctor_run() */
	r->ran = false;
}
