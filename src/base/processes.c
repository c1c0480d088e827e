/* SPDX-License-Identifier: Apache-2.0 */
/* base/processes.c - what the processes of this machine use, from /proc */

#include "base/processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"

/* The word of @line with @n words before it: "" at the end */
static const char *word(const char *line, unsigned int n)
{
	line += strspn(line, " ");
	while (n--) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

static uint64_t word_number(const char *line, unsigned int n, int base)
{
	return strtoull(word(line, n), NULL, base);
}

void processes_read(struct processes *ret)
{
	const uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	auto_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char text[1024];
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		const char *at = pid > 0 ? proc_stat(pid, text, sizeof(text)) : NULL;

		/* proc_pid_stat(5) counts these fields from 1: 4, 14, 15 and 24 */
		if (at)
			*vec_push(ret) = (struct process){
				pid, (pid_t)word_number(at, 2, 10),
				(word_number(at, 12, 10) + word_number(at, 13, 10)) * 1000 / second,
				word_number(at, 22, 10) * page,
			};
	}
}

/* A snapshot of /proc may hold a circle: at most as many steps as processes */
bool processes_descend(const struct processes *all, pid_t pid, pid_t from)
{
	for (size_t step = 0; pid > 0 && pid != from && step < all->len; step++) {
		size_t i = 0;

		while (i < all->len && all->v[i].pid != pid)
			i++;
		pid = i < all->len ? all->v[i].parent : 0;
	}
	return pid == from;
}

void tcp_sockets_each(const char *pid, void (*fn)(void *arg, const struct tcp_socket *s),
		      void *arg)
{
	static const char *const tables[] = { "tcp", "tcp6" };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		auto_free char *path = mem_printf("/proc/%s/net/%s", pid, tables[i]);
		auto_fclose FILE *file = fopen(path, "re");
		char line[512];

		for (int n = 0; file && n < TCP_SOCKETS_MAX &&
		     fgets(line, sizeof(line), file); n++) {
			struct tcp_socket s = { 0 };
			const char *address = word(line, 1);
			const size_t len = strspn(address, "0123456789ABCDEF");

			if (address[len] != ':' || len >= sizeof(s.address))
				continue;
			memcpy(s.address, address, len);
			s.port = (uint16_t)strtoul(address + len + 1, NULL, 16);
			s.state = (unsigned int)word_number(line, 3, 16);
			s.inode = word_number(line, 9, 10);
			fn(arg, &s);
		}
	}
}
