/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/homelock.c - sandboxes that were started before there was a store
 *
 * Theory of operation: a command in a sandbox can open $HOME and lock it, too,
 * and would keep everybody from storing secrets. So a lock that is in the way is
 * looked up in /proc/locks, which lists all of them with who took each: one that
 * was taken behind more system call filters than we have is a command's. Who
 * took it may be gone and its number another's: it must still hold it.
 */

#include "base/homelock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/own.h"

enum {
	STEP_MS = 10,
	LINES_MAX = 1 << 20,	/* Of /proc/locks */
};

static int open_home(void)
{
	auto_free char *home = fs_home();

	if (!home) {
		errno = ENOENT;
		return -1;
	}
	return fs_above_std(open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int homelock_take(void)
{
	auto_close int fd = open_home();

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	return take_fd(&fd);
}

/**
 * struct lock - A line of /proc/locks, or of fdinfo, about $HOME
 * @pid:	Who took it; 0 if the line is about something else
 * @shared:	As sandboxes take it
 */
struct lock {
	int pid;
	bool shared;
};

/* "FLOCK  ADVISORY  READ PID MAJOR:MINOR:INODE ..." */
static struct lock parse(char *line, ino_t ino)
{
	char *words[5], *save = NULL, *word = strstr(line, "FLOCK");
	const char *colon;

	word = word ? strtok_r(word, " \n", &save) : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!word)
			return (struct lock){ 0 };
		words[i] = word;
		word = strtok_r(NULL, " \n", &save);
	}
	colon = strrchr(words[4], ':');
	if (!colon || strtoull(colon + 1, NULL, 10) != ino)
		return (struct lock){ 0 };
	return (struct lock){ (int)strtol(words[3], NULL, 10),
			      !strcmp(words[2], "READ") };
}

/* How many filters stand between process @name and the kernel; -1: not known */
static int filters(const char *name)
{
	static const char key[] = "Seccomp_filters:";
	char path[64], line[256];
	auto_fclose FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%s/status", name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			return (int)strtol(line + strlen(key), NULL, 10);
	}
	return -1;
}

/* True if one of the files that @pid has open holds the lock, or if we may not
 * know
 */
static bool still_holds(int pid, ino_t ino)
{
	auto_closedir DIR *dir = NULL;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return errno != ENOENT;
	while ((entry = readdir(dir)) != NULL) {
		auto_close int fd = openat(dirfd(dir), entry->d_name,
					   O_RDONLY | O_CLOEXEC);
		auto_fclose FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
		char line[256];

		if (file)
			(void)take_fd(&fd);
		while (file && fgets(line, sizeof(line), file)) {
			if (parse(line, ino).pid)
				return true;
		}
	}
	return false;
}

/* Of a sandbox, or of a command in one? What cannot be known is the former. */
static bool is_sandbox(int pid, ino_t ino)
{
	char name[16];
	int theirs;

	snprintf(name, sizeof(name), "%d", pid);
	theirs = filters(name);
	return still_holds(pid, ino) &&
	       (theirs < 0 || theirs <= filters("self"));
}

static bool is_held(void)
{
	auto_close int fd = open_home();
	auto_fclose FILE *locks = NULL;
	char line[256];
	struct stat st;
	bool unseen;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return false;
	unseen = errno == EWOULDBLOCK;
	locks = fstat(fd, &st) < 0 ? NULL : fopen("/proc/locks", "re");
	if (!locks)
		return true;
	for (int i = 0; fgets(line, sizeof(line), locks); i++) {
		const struct lock lock = parse(line, st.st_ino);

		if (i == LINES_MAX ||
		    (lock.shared && is_sandbox(lock.pid, st.st_ino)))
			return true;
		unseen = unseen && !lock.pid;
	}
	/* In the way of ours, and whoever has it is not to be seen from here */
	return unseen;
}

bool homelock_wait(unsigned int ms)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	unsigned int waited = 0;

	/* Who only asks cannot be woken */
	while (is_held()) {
		if (waited >= ms)
			return false;
		(void)nanosleep(&step, NULL);
		waited += STEP_MS;
	}
	return true;
}
