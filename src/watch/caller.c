/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/caller.c - which part of a program made a call
 *
 * Theory of operation: programs call the library's function, which does nothing
 * but the system call. So the system call is made in the library, and on the stack
 * is where that returns to: in the program, or in the library itself. Programs that
 * make system calls themselves have them in their own file.
 */

#include "watch/caller.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "watch/tracee.h"

enum { MAPS_MAX = 256 << 10 };	/* Bytes of /proc/PID/maps that are looked at */

/* Where the call is made, and where that returns to: true if it is known */
static bool read_places(const struct tracee *t, uint64_t places[2])
{
	auto_close int fd = openat(t->dir, "syscall", O_RDONLY | O_CLOEXEC);
	char text[256];
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *pc, *sp;

	text[n < 0 ? 0 : n] = '\0';	/* "NUMBER ARG... STACK PLACE" */
	pc = strrchr(text, ' ');
	if (!pc)
		return false;
	for (sp = pc; sp > text && sp[-1] != ' '; sp--)
		;
	places[0] = strtoull(pc, NULL, 16);
	return tracee_read(t, strtoull(sp, NULL, 16), &places[1],
			   sizeof(places[1])) == 0;
}

/* The file that is mapped at @address, by the text @maps; "" if none is */
static char *file_at(const char *maps, uint64_t address)
{
	for (const char *line = maps; line && *line;
	     line = strchr(line, '\n')) {
		char *end;
		uint64_t from, to;

		line += *line == '\n';
		from = strtoull(line, &end, 16);
		to = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;
		if (address >= from && address < to) {
			const size_t n = strcspn(line, "\n");
			const char *path = memchr(line, '/', n);

			return path ? mem_strndup(path, n - (size_t)(path - line))
				    : mem_strdup("");
		}
	}
	return mem_strdup("");
}

static bool starts(const char *path, const char *name)
{
	return !strncmp(path_base(path), name, strlen(name));
}

bool caller_is_library(const struct tracee *t)
{
	auto_close int fd = openat(t->dir, "maps", O_RDONLY | O_CLOEXEC);
	auto_buf struct buf maps = { 0 };
	auto_free char *made = NULL, *back = NULL;
	uint64_t places[2];

	if (fd < 0 || !read_places(t, places) ||
	    fs_read_fd(fd, MAPS_MAX, &maps, NULL) < 0)
		return false;
	made = file_at(buf_str(&maps), places[0]);
	back = file_at(buf_str(&maps), places[1]);
	return (starts(made, "libc.") || starts(made, "libc-") ||
		starts(made, "ld-musl-")) &&
	       (!strcmp(made, back) || starts(back, "libnss_"));
}
