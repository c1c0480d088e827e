/* SPDX-License-Identifier: Apache-2.0 */
/* run/localhost-hint.c - explain a connect() to a server that only the host has */

#include "run/localhost-hint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/processes.h"
#include "base/text.h"
#include "report/command-text.h"
#include "report/report.h"
#include "report/suggestion.h"
#include "report/violation.h"
#include "run/options.h"

enum {
	NETWORKS_MAX = 64,	/* Of other sandboxes that are looked at */
	RUN_WORDS_MAX = 256,	/* Of the command line of one */
};

bool localhost_hint_is_away(const struct sockaddr *sa, socklen_t len,
		   struct sockaddr_in6 *ret)
{
	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const void *)sa;

		ret->sin6_port = in->sin_port;
		ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
		memcpy(ret->sin6_addr.s6_addr + 12, &in->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6 &&
		   len >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		ret->sin6_port = in6->sin6_port;
		ret->sin6_addr = in6->sin6_addr;
	} else {
		return false;
	}
	if (IN6_IS_ADDR_V4MAPPED(&ret->sin6_addr))
		return ret->sin6_addr.s6_addr[12] != 127 &&
		       ret->sin6_addr.s6_addr[12] != 0;
	return !IN6_IS_ADDR_LOOPBACK(&ret->sin6_addr) &&
	       !IN6_IS_ADDR_UNSPECIFIED(&ret->sin6_addr);
}

static bool has(const _Atomic uint16_t *ports, uint16_t port)
{
	for (size_t i = 0; i < LOCALHOST_HINT_MAX && ports[i]; i++) {
		if (ports[i] == port)
			return true;
	}
	return false;
}

static void note(_Atomic uint16_t *ports, uint16_t port)
{
	for (size_t i = 0; port && i < LOCALHOST_HINT_MAX; i++) {
		uint16_t there = 0;

		if (atomic_compare_exchange_strong(&ports[i], &there, port) ||
		    there == port)
			return;
	}
}

void localhost_hint_tried(struct localhost_hint *local, in_port_t port)
{
	note(local->tried, ntohs(port));
}

void localhost_hint_served(struct localhost_hint *local, in_port_t port)
{
	note(local->served, ntohs(port));
}

/* True if the address @hex of a socket is one of localhost's, or all addresses */
static bool is_local(const char *hex)
{
	const size_t n = strlen(hex);
	static const char loopback[] = "00000000000000000000000001000000";
	static const char mapped[] = "0000000000000000FFFF0000";

	if (strspn(hex, "0") >= n ||
	    (n == strlen(loopback) && !strncmp(hex, loopback, n)))
		return true;
	/* The kernel prints words as numbers: the first byte is the last */
	return (n == 8 || !strncmp(hex, mapped, strlen(mapped))) &&
	       !strncmp(hex + n - 2, "7F", 2);
}

/* Which of @ports are served, by a sandbox in which the process @pid is */
struct served {
	const uint16_t *ports;
	pid_t pid, *ret;
};

static void note_served(void *arg, const struct tcp_socket *s)
{
	const struct served *served = arg;

	for (size_t i = 0; s->state == TCP_LISTEN && is_local(s->address) &&
			   i < LOCALHOST_HINT_MAX; i++) {
		if (served->ports[i] == s->port)
			served->ret[i] = served->pid;
	}
}

/* The network namespace of the process @pid, if it runs in @project; else 0 */
static ino_t network_of(const char *pid, const char *project)
{
	auto_free char *cwd = fs_link("/proc/%s/cwd", pid);
	auto_free char *net = mem_printf("/proc/%s/ns/net", pid);
	struct stat st;

	return cwd && path_is_within(project, cwd) && stat(net, &st) == 0 ?
	       st.st_ino : 0;
}

/* Processes in @project that have another network than we are sandboxes' */
static void find_elsewhere(const char *project, pid_t *there,
			   const uint16_t *ports)
{
	auto_close int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	ino_t seen[NETWORKS_MAX];
	size_t n = 1;
	struct dir_entry entry;

	seen[0] = network_of("self", "/");
	while (fd >= 0 && n < NETWORKS_MAX && dir_next(&dir, &entry) > 0) {
		ino_t net;
		size_t i = 0;

		if (entry.name[0] < '1' || entry.name[0] > '9')
			continue;
		net = network_of(entry.name, project);
		while (i < n && seen[i] != net)
			i++;
		if (!net || i < n)
			continue;
		seen[n++] = net;
		tcp_sockets_each(entry.name, note_served,
				 &(struct served){ ports, (pid_t)strtol(entry.name, NULL, 10),
						   there });
	}
}

/* True if @pid is an unsandboxed cloche of the user's: where we are, not inside another
 * sandbox, in which a command could have started it with options that the user would not
 */
static bool is_ours_outside(pid_t pid)
{
	static const char *const links[] = { "exe", "ns/net", "ns/pid", "ns/user" };
	auto_free char *process = mem_printf("/proc/%d", (int)pid);
	struct stat owner;
	bool same = pid > 1 && stat(process, &owner) == 0 && owner.st_uid == geteuid();

	for (size_t i = 0; same && i < ARRAY_SIZE(links); i++) {
		auto_free char *theirs = mem_printf("/proc/%d/%s", (int)pid, links[i]);
		auto_free char *ours = mem_printf("/proc/self/%s", links[i]);
		struct stat a, b;

		same = stat(theirs, &a) == 0 && stat(ours, &b) == 0 &&
		       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	}
	return same;
}

/* The command line of the cloche that runs the sandbox in which @pid is: its words in @ret,
 * the text that they point into in @text, its process, or 0 if it is not a `cloche run`
 */
static pid_t find_run(pid_t pid, struct buf *text, const char *ret[static RUN_WORDS_MAX])
{
	auto_free char *path = NULL;
	size_t n = 0;

	while (pid > 1 && !is_ours_outside(pid))
		pid = proc_parent(pid);
	path = mem_printf("/proc/%d/cmdline", (int)pid);
	if (pid <= 1 || fs_read(AT_FDCWD, path, REPORT_LINE_MAX, text, NULL) < 0)
		return 0;
	buf_addc(text, '\0');
	for (const char *word = text->p; word < text->p + text->len - 1;
	     word += strlen(word) + 1) {
		if (n == RUN_WORDS_MAX - 1)
			return 0;
		ret[n++] = word;
	}
	ret[n] = NULL;
	return n > 2 && !strcmp(ret[1], "run") ? pid : 0;
}

/* The session that a run is in, or NULL */
static const char *session_of(const char *const *words)
{
	for (size_t i = 2; words[i] && !strncmp(words[i], "--", 2) && words[i][2]; i++) {
		const char *name = words[i] + 2;
		const size_t n = strcspn(name, "=");
		const enum option_id id = option_find(name, n);

		if (id == OPTION_SESSION)
			return name[n] ? name + n + 1 : words[i + 1];
		if (id < OPTION_COUNT && option_row(id)->argument && !name[n] && words[i + 1])
			i++;
	}
	return NULL;
}

/* A session can be joined. Any other server is started again, with its port published; the
 * next attempt then finds it at the host's localhost.
 */
static void suggest_other(struct violation *v, uint16_t port, pid_t pid)
{
	auto_buf struct buf text = { 0 }, line = { 0 };
	const char *words[RUN_WORDS_MAX];
	auto_free char *publish = mem_printf("--publish=%u", port);
	const pid_t run = find_run(pid, &text, words);
	auto_free char *cwd = run ? fs_link("/proc/%d/cwd", (int)run) : NULL;
	const char *session = run ? session_of(words) : NULL;

	if (session) {
		buf_adds(&line, "cloche run --session ");
		text_shell_quote(&line, session);
		buf_adds(&line, " -- ");
	} else if (cwd) {
		buf_adds(&line, "cd ");
		text_shell_quote(&line, cwd);
		buf_adds(&line, " && cloche run");
		words[1] = publish;
		if (command_text(words + 1, REPORT_LINE_MAX, &line) ||
		    line.len >= REPORT_LINE_MAX)
			return;
		suggestion_nothing(v, "end that server and start it so:");
	}
	if (line.len)
		v->suggest_command = buf_take(&line);
}

static void report(const struct violation_sink *sink, uint16_t port, bool host, pid_t other)
{
	auto_violation struct violation v = {
		.kind = VIOLATION_NET_PORT, .error = ECONNREFUSED, .count = 1,
		.op = mem_strdup("connect"),
		.target = mem_printf("localhost:%u", port),
		.reason = mem_strdup(host ?
			"the sandbox has a localhost of its own, and the host's server is not there" :
			"another sandbox of this project serves it, and each has a localhost of its own"),
		.rule_key = mem_strdup("sandbox.network.hostPorts"),
		.suggest_edit = host ?
			mem_printf("sandbox.network.hostPorts += %u", port) :
			mem_printf("start the server with --publish %u, and this with --host-port %u",
				   port, port),
		.suggest_command = host ?
			mem_printf("cloche policy allow port %u", port) : NULL,
	};

	if (!host)
		suggest_other(&v, port, other);
	violation_report(sink, &v);
}

void localhost_hint_report(const struct localhost_hint *local, const char *project,
		  const struct violation_sink *sink)
{
	uint16_t missed[LOCALHOST_HINT_MAX] = { 0 };
	pid_t host[LOCALHOST_HINT_MAX] = { 0 }, there[LOCALHOST_HINT_MAX] = { 0 };
	bool any = false;

	for (size_t i = 0; i < LOCALHOST_HINT_MAX; i++) {
		missed[i] = has(local->served, local->tried[i]) ? 0 :
			    local->tried[i];
		any |= missed[i] != 0;
	}
	if (!any)
		return;
	tcp_sockets_each("self", note_served, &(struct served){ missed, 1, host });
	if (project)
		find_elsewhere(project, there, missed);
	for (size_t i = 0; i < LOCALHOST_HINT_MAX; i++) {
		if (host[i] || there[i])
			report(sink, missed[i], host[i], there[i]);
	}
}
