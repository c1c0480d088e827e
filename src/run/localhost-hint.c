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

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/processes.h"
#include "report/violation.h"

enum {
	NETWORKS_MAX = 64,	/* Of other sandboxes that are looked at */
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

/* Which of @ports are served */
struct served {
	const uint16_t *ports;
	bool *ret;
};

static void note_served(void *arg, const struct tcp_socket *s)
{
	const struct served *served = arg;

	for (size_t i = 0; s->state == TCP_LISTEN && is_local(s->address) &&
			   i < LOCALHOST_HINT_MAX; i++)
		served->ret[i] |= served->ports[i] == s->port;
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
static void find_elsewhere(const char *project, bool *there,
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
				 &(struct served){ ports, there });
	}
}

static void report(const struct violation_sink *sink, uint16_t port, bool host)
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

	violation_report(sink, &v);
}

void localhost_hint_report(const struct localhost_hint *local, const char *project,
		  const struct violation_sink *sink)
{
	uint16_t missed[LOCALHOST_HINT_MAX] = { 0 };
	bool host[LOCALHOST_HINT_MAX] = { 0 }, there[LOCALHOST_HINT_MAX] = { 0 }, any = false;

	for (size_t i = 0; i < LOCALHOST_HINT_MAX; i++) {
		missed[i] = has(local->served, local->tried[i]) ? 0 :
			    local->tried[i];
		any |= missed[i] != 0;
	}
	if (!any)
		return;
	tcp_sockets_each("self", note_served, &(struct served){ missed, host });
	if (project)
		find_elsewhere(project, there, missed);
	for (size_t i = 0; i < LOCALHOST_HINT_MAX; i++) {
		if (host[i] || there[i])
			report(sink, missed[i], host[i]);
	}
}
