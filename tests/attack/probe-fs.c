/* SPDX-License-Identifier: Apache-2.0 */
/* tests/attack/probe-fs.c - attempts on files */

#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { DEPTH_MAX = 12, ENTRIES_MAX = 200000 };

static int open_close(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			    0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int fs_stat(char **argv)
{
	struct stat st;

	return probe_result(stat(argv[0], &st));
}

int fs_rmdir(char **argv)
{
	return probe_result(rmdir(argv[0]));
}

int fs_mknod_char(char **argv)
{
	return probe_result(mknod(argv[0], S_IFCHR | 0666, makedev(1, 3)));
}

int fs_mknod_block(char **argv)
{
	return probe_result(mknod(argv[0], S_IFBLK | 0600, makedev(254, 0)));
}

int fs_lease(char **argv)
{
	const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	const int r = fd < 0 ? -errno :
		      probe_result(fcntl(fd, F_SETLEASE, F_RDLCK));

	if (fd >= 0)
		close(fd);
	return r;
}

/* ENOTTY where it reaches a file system that has no such thing */
int fs_ioctl(char **argv)
{
	const int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const unsigned long request = strtoul(argv[1], NULL, 0);
	static char room[4096];
	const int r = fd < 0 ? -errno : probe_result(ioctl(fd, request, room));

	if (fd >= 0)
		close(fd);
	return r;
}

int fs_fds(char **argv)
{
	(void)argv;
	for (int fd = 0; fd < 1 << 17; fd++) {
		char link[64], target[4096];
		ssize_t n;

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target) - 1);
		printf("%d %.*s\n", fd, n > 0 ? (int)n : 1, n > 0 ? target : "?");
	}
	return 0;
}

static void writable_below(const char *path, int depth, int *left)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL && --*left > 0) {
		char below[4096];
		struct stat st;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (lstat(below, &st) < 0 || S_ISLNK(st.st_mode))
			continue;
		if (!S_ISDIR(st.st_mode)) {
			if (open_close(below, O_WRONLY) == 0)
				printf("%s\n", below);
		} else if (depth < DEPTH_MAX) {
			writable_below(below, depth + 1, left);
		}
	}
	closedir(dir);
}

int fs_writable(char **argv)
{
	int left = ENTRIES_MAX;

	writable_below(argv[0], 0, &left);
	return 0;
}

/* Field 5 of a mountinfo line, with its octal escapes undone */
static void unescape(char *p)
{
	char *out = p;

	for (; *p; p++) {
		if (*p == '\\' && p[1] && p[2] && p[3]) {
			const char octal[] = { p[1], p[2], p[3], '\0' };

			*out++ = (char)strtol(octal, NULL, 8);
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

int fs_mounts(char **argv)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[8192], point[4096], path[8192];

	(void)argv;
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		char *save = NULL;
		const char *word = strtok_r(line, " ", &save);

		for (int i = 0; i < 4 && word; i++)
			word = strtok_r(NULL, " ", &save);
		if (!word)
			continue;
		snprintf(point, sizeof(point), "%s", word);
		unescape(point);
		snprintf(path, sizeof(path), "%s/probe-was-here", point);
		if (open_close(path, O_WRONLY | O_CREAT | O_EXCL) == 0) {
			printf("%s\n", point);
			unlink(path);
		} else if (open_close(point, O_WRONLY) == 0) {
			printf("%s\n", point);
		}
	}
	fclose(file);
	return 0;
}
