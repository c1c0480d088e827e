/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/socket-owner.c - which process of a sandbox holds a socket
 *
 * Theory of operation: the kernel gives the inode's number, and a process cannot
 * hide a descriptor from /proc. It can only exit before the search, or open more
 * descriptors than the search looks at, which has a limit.
 */

#include "run/socket-owner.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"

enum {
	PROCESSES_MAX = 1024,		/* Looked at */
	DESCRIPTORS_MAX = 1 << 14,	/* Of all of them together */
	CHILDREN_MAX = 1 << 16,		/* Bytes of one list */
};

/* Processes to look at: the first @at have been */
struct search {
	char link[40];
	struct { pid_t *v; size_t len, cap; } found;
	size_t at, descriptors, threads;
};

static DIR *open_list(pid_t pid, const char *what)
{
	auto_free char *path = mem_printf("/proc/%d/%s", (int)pid, what);

	return opendir(path);
}

static bool holds(struct search *s, pid_t pid)
{
	auto_closedir DIR *dir = open_list(pid, "fd");
	const struct dirent *e;
	bool found = false;

	while (dir && !found && s->descriptors < DESCRIPTORS_MAX &&
	       (e = readdir(dir))) {
		char link[sizeof(s->link)];
		ssize_t n;

		s->descriptors++;
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		found = !strcmp(link, s->link);
	}
	return found;
}

/* Children belong to the thread that made them */
static void add_children(struct search *s, pid_t pid)
{
	auto_closedir DIR *dir = open_list(pid, "task");
	const struct dirent *e;

	while (dir && s->found.len < PROCESSES_MAX &&
	       s->threads < SOCKET_OWNER_THREADS_MAX && (e = readdir(dir))) {
		auto_buf struct buf list = { 0 };
		char path[sizeof(e->d_name) + 16], *save = NULL;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		s->threads++;
		snprintf(path, sizeof(path), "%s/children", e->d_name);
		if (fs_read(dirfd(dir), path, CHILDREN_MAX, &list, NULL) < 0 ||
		    !list.len)
			continue;
		buf_addc(&list, '\0');
		for (char *w = strtok_r(list.p, " ", &save);
		     w && s->found.len < PROCESSES_MAX;
		     w = strtok_r(NULL, " ", &save))
			*vec_push(&s->found) = (pid_t)strtol(w, NULL, 10);
	}
}

static pid_t next(struct search *s)
{
	const pid_t pid = s->found.v[s->at++];

	if (holds(s, pid))
		return pid;
	add_children(s, pid);
	return 0;
}

pid_t socket_owner_find(pid_t init, uint64_t inode, pid_t first)
{
	struct search s = { 0 };
	pid_t pid = 0;

	snprintf(s.link, sizeof(s.link), "socket:[%" PRIu64 "]", inode);
	if (first && holds(&s, first))
		return first;
	*vec_push(&s.found) = init;
	while (!pid && s.at < s.found.len)
		pid = next(&s);
	free(s.found.v);
	return pid;
}
