/* SPDX-License-Identifier: Apache-2.0 */
/* session/session-status.c - what the processes of a session use, from /proc */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "session/session-wire.h"

enum {
	STAT_MAX = 4096,
	TCP_MAX = 1 << 20,	/* Bytes of the table of sockets that are read */
	TCP_LISTEN = 10,
	PORTS_MAX = 64,
	SOCKETS_MAX = 4096,
};

/**
 * struct process - One line of /proc/PID/stat
 * @ticks:	User and system time
 * @pages:	Resident memory
 */
struct process {
	pid_t pid, parent;
	uint64_t ticks, pages;
	bool ours;
};

struct processes {
	struct process *v;
	size_t len, cap;
};

/* What stands @n blanks behind @at, or NULL */
static const char *field(const char *at, unsigned int n)
{
	at += strspn(at, " ");
	while (n--) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return *at ? at : NULL;
}

static bool read_stat(const char *name, struct process *ret)
{
	char text[STAT_MAX];
	const char *at;

	ret->pid = (pid_t)strtol(name, NULL, 10);
	at = proc_stat(ret->pid, text, sizeof(text));
	if (!at || !field(at + 1, 21))
		return false;
	ret->parent = (pid_t)strtol(field(at + 1, 1), NULL, 10);
	ret->ticks = strtoull(field(at + 1, 11), NULL, 10) +
		     strtoull(field(at + 1, 12), NULL, 10);
	ret->pages = strtoull(field(at + 1, 21), NULL, 10);
	return true;
}

static void read_processes(struct processes *all)
{
	auto_closedir DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc)) != NULL) {
		struct process p = { 0 };

		if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
		    read_stat(entry->d_name, &p))
			*vec_push(all) = p;
	}
}

/* Mark all descendants of @init: what is orphaned becomes its child */
static void mark(struct processes *all, pid_t init)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < all->len; i++) {
			struct process *p = &all->v[i];

			for (size_t j = 0; !p->ours && j < all->len; j++) {
				if (p->parent == all->v[j].pid &&
				    (all->v[j].ours || p->parent == init))
					more = p->ours = true;
			}
		}
	}
}

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

static void add_ports(json_t *ports, const struct inodes *sockets, pid_t pid,
		      const char *table)
{
	auto_free char *path = mem_printf("/proc/%d/net/%s", (int)pid, table);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };
	char *line, *rest;

	if (fd < 0 || fs_read_fd(fd, TCP_MAX, &text, NULL) < 0 || !text.p)
		return;
	for (line = strtok_r(text.p, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *local = field(line, 1), *inode = field(line, 9);
		const char *port = local ? strchr(local, ':') : NULL;

		if (port && inode && strtoul(field(line, 3), NULL, 16) == TCP_LISTEN &&
		    has_inode(sockets, strtoul(inode, NULL, 10)))
			add_port(ports, (unsigned int)strtoul(port + 1, NULL, 16));
	}
}

json_t *session_usage(pid_t init)
{
	json_t *ports = json_array();
	struct processes all = { 0 };
	uint64_t ticks = 0, pages = 0;
	struct inodes sockets = { 0 };
	size_t n = 0;

	read_processes(&all);
	mark(&all, init);
	for (size_t i = 0; i < all.len; i++) {
		if (!all.v[i].ours)
			continue;
		n++;
		ticks += all.v[i].ticks;
		pages += all.v[i].pages;
		add_sockets(&sockets, all.v[i].pid);
	}
	free(all.v);
	add_ports(ports, &sockets, init, "tcp");
	add_ports(ports, &sockets, init, "tcp6");
	free(sockets.v);
	return json_pack("{s:I, s:I, s:I, s:o}", "processes", (json_int_t)n,
			 "cpuMs", (json_int_t)(ticks * 1000 /
					       (uint64_t)sysconf(_SC_CLK_TCK)),
			 "memory", (json_int_t)(pages * (uint64_t)sysconf(_SC_PAGESIZE)),
			 "ports", ports);
}
