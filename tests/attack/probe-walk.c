/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/attack/probe-walk.c - what can be done with each of many paths
 *
 * Reads paths from standard input, one a line, and prints for each one line of
 * six letters, "-" where the thing cannot be done:
 *
 *	s  it is there (lstat)
 *	r  it opens for reading (a directory: it opens and lists)
 *	w  it opens for writing (files)
 *	c  a file can be created in it and removed again (directories)
 *	n  it can be renamed, and back
 *	t  truncating it by path works (empty files only)
 *
 * What works is undone at once, so the order of the paths does not matter.
 */

#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 8192 };

static bool opens(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool lists(const char *path)
{
	DIR *dir = opendir(path);

	if (dir)
		closedir(dir);
	return dir != NULL;
}

static bool creates(const char *path)
{
	char inside[LINE + 16];
	int fd;

	snprintf(inside, sizeof(inside), "%s/.walk-new", path);
	fd = open(inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return unlink(inside) == 0;
}

static bool renames(const char *path)
{
	char aside[LINE + 16];

	snprintf(aside, sizeof(aside), "%s.walk-aside", path);
	return rename(path, aside) == 0 && rename(aside, path) == 0;
}

static void walk_one(const char *path)
{
	char answer[] = "------";
	struct stat st;

	if (lstat(path, &st) == 0) {
		const bool dir = S_ISDIR(st.st_mode);

		answer[0] = 's';
		answer[1] = (dir ? lists(path) : opens(path, O_RDONLY)) ? 'r'
								       : '-';
		answer[2] = !dir && opens(path, O_WRONLY) ? 'w' : '-';
		answer[3] = dir && creates(path) ? 'c' : '-';
		answer[4] = renames(path) ? 'n' : '-';
		answer[5] = S_ISREG(st.st_mode) && !st.st_size &&
			    truncate(path, 0) == 0 ? 't' : '-';
	}
	printf("%s %s\n", answer, path);
}

int probe_walk(void)
{
	char line[LINE];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		walk_one(line);
	}
	return 0;
}
