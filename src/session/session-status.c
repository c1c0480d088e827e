/* SPDX-License-Identifier: Apache-2.0 */
/* session/session-status.c - what the processes of a session use, from /proc */

#include <dirent.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/processes.h"
#include "session/session-wire.h"

enum {
	PORTS_MAX = 64,
	SOCKETS_MAX = 4096,
};

static void add_port(json_t *ports, unsigned int port)
{
	json_t *each;
	size_t i;

	json_array_foreach(ports, i, each) {
		if (json_integer_value(each) == port)
			return;
	}
	if (json_array_size(ports) < PORTS_MAX)
		json_array_append_new(ports, json_integer(port));
}

struct inodes {
	unsigned long *v;
	size_t len, cap;
};

/* The sockets that @pid has open. The listeners of the gate are in the same table of the
 * kernel, and are no process's of the session.
 */
static void add_sockets(struct inodes *all, pid_t pid)
{
	auto_free char *path = mem_printf("/proc/%d/fd", (int)pid);
	auto_closedir DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && all->len < SOCKETS_MAX && (entry = readdir(dir)) != NULL) {
		auto_free char *link = fs_link("%s/%s", path, entry->d_name);

		if (link && !strncmp(link, "socket:[", 8))
			*vec_push(all) = strtoul(link + 8, NULL, 10);
	}
}

static bool has_inode(const struct inodes *all, unsigned long inode)
{
	for (size_t i = 0; i < all->len; i++) {
		if (all->v[i] == inode)
			return true;
	}
	return false;
}

/* Ports at which one of the @sockets listens */
struct served {
	const struct inodes *sockets;
	json_t *ports;
};

static void add_served(void *arg, const struct tcp_socket *s)
{
	const struct served *served = arg;

	if (s->state == TCP_LISTEN && has_inode(served->sockets, s->inode))
		add_port(served->ports, s->port);
}

json_t *session_usage(pid_t init)
{
	auto_free char *name = mem_printf("%d", (int)init);
	struct inodes sockets = { 0 };
	struct served served = { &sockets, json_array() };
	struct processes all = { 0 };
	uint64_t cpu_ms = 0, memory = 0;
	size_t n = 0;

	processes_read(&all);
	for (size_t i = 0; i < all.len; i++) {
		const struct process *p = &all.v[i];

		if (p->pid == init || !processes_descend(&all, p->pid, init))
			continue;
		n++;
		cpu_ms += p->cpu_ms;
		memory += p->memory;
		add_sockets(&sockets, p->pid);
	}
	free(all.v);
	tcp_sockets_each(name, add_served, &served);
	free(sockets.v);
	return json_pack("{s:I, s:I, s:I, s:o}", "processes", (json_int_t)n,
			 "cpuMs", (json_int_t)cpu_ms, "memory", (json_int_t)memory,
			 "ports", served.ports);
}
