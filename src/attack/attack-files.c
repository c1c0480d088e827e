/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack-files.c - attempts on files */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/own.h"

enum {
	REPLACED_TRIES = 20,
	QUIETLY = O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
};

/* Attempts that are one call */
ATTEMPT(open_write, open(a->argv[0], O_WRONLY | QUIETLY))
ATTEMPT(create, open(a->argv[0], O_WRONLY | O_CREAT | O_EXCL | QUIETLY, 0600))
ATTEMPT(tmpfile_in, open(a->argv[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))
ATTEMPT(try_truncate, truncate(a->argv[0], 0))
ATTEMPT(try_chmod, chmod(a->argv[0], 0777))
ATTEMPT(try_setxattr, setxattr(a->argv[0], "user.cloche", "x", 1, 0))
ATTEMPT(utime_now, utimensat(AT_FDCWD, a->argv[0], NULL, 0))
ATTEMPT(try_unlink, unlink(a->argv[0]))
ATTEMPT(try_rename, rename(a->argv[0], a->argv[1]))
ATTEMPT(exchange, renameat2(AT_FDCWD, a->argv[0], AT_FDCWD, a->argv[1],
			    RENAME_EXCHANGE))
ATTEMPT(try_link, link(a->argv[0], a->argv[1]))
ATTEMPT(try_mkdir, mkdir(a->argv[0], 0700))
ATTEMPT(try_symlink, symlink(a->argv[0], a->argv[1]))
ATTEMPT(try_mkfifo, mkfifo(a->argv[0], 0600))
/* Character device 0:0 is an overlay's whiteout, which needs no privilege */
ATTEMPT(mknod_whiteout, mknod(a->argv[0], S_IFCHR, makedev(0, 0)))

/* A free name in the start directory; every attempt has its own */
static const char *own_path(const struct attack *a)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "own-%s", a->word ?: "x");
	return path;
}

void attack_make_parents(const char *path)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(dir, 0700);
		*p = '/';
	}
}

static void parent_of(const char *path, char ret[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(ret, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
}

static int try_read(struct attack *a)
{
	return attack_read(a, open(a->argv[0],
				   O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

static int read_link(struct attack *a)
{
	(void)!symlink(a->argv[0], own_path(a));
	return attack_read(a, open(own_path(a), O_RDONLY | O_CLOEXEC));
}

static int read_hard(struct attack *a)
{
	if (link(a->argv[0], own_path(a)) < 0)
		return -errno;
	return attack_read(a, open(own_path(a), O_RDONLY | O_CLOEXEC));
}

static int by_handle(struct attack *a)
{
	struct {
		struct file_handle head;
		char bytes[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	auto_close int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int id;

	if (name_to_handle_at(AT_FDCWD, a->argv[0], &handle.head, &id, 0) < 0)
		return -errno;
	return attack_read(a, open_by_handle_at(dir, &handle.head, O_RDONLY));
}

/* An empty mask has "." and ".." as well */
static int list_names(struct attack *a)
{
	auto_closedir DIR *dir = opendir(a->argv[0]);
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			attack_learn(a, entry->d_name,
				     strlen(entry->d_name) + !a->print);
	}
	return 0;
}

static int devices(struct attack *a)
{
	static const char usual[] = " . .. null zero full random urandom tty "
		"ptmx pts shm mqueue fd stdin stdout stderr console core ";
	auto_closedir DIR *dir = opendir("/dev");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char word[NAME_MAX + 3];

		snprintf(word, sizeof(word), " %s ", entry->d_name);
		if (!strstr(usual, word))
			attack_learn(a, word, strlen(word));
	}
	return a->found.len ? 0 : -ENOENT;
}

static int open_any(struct attack *a)
{
	const int fd = open(a->argv[0], O_RDWR | QUIETLY);

	return attack_result(fd >= 0 ? fd : open(a->argv[0], O_RDONLY | QUIETLY));
}

static int append(struct attack *a)
{
	return attack_mark(a->argv[0], O_APPEND);
}

/* With the directories that it is in */
static int plant(struct attack *a)
{
	attack_make_parents(a->argv[0]);
	return attack_mark(a->argv[0], O_CREAT | O_EXCL);
}

/* The mode by a descriptor that was opened to read */
static int try_fchmod(struct attack *a)
{
	auto_close int fd = open(a->argv[0], O_RDONLY | O_CLOEXEC);

	return attack_result(fd < 0 ? -1 : fchmod(fd, 0666));
}

static int exchange_new(struct attack *a)
{
	(void)mkdir(a->argv[1], 0700);
	return exchange(a);
}

static int plant_symlink(struct attack *a)
{
	attack_make_parents(a->argv[0]);
	return attack_result(symlink("/etc/passwd", a->argv[0]));
}

/* Another file in the place of one: from beside it, else from the project */
static int replace_file(struct attack *a)
{
	char beside[PATH_MAX];

	snprintf(beside, sizeof(beside), "%s-beside", a->argv[0]);
	if (attack_mark(beside, O_CREAT) == 0 &&
	    rename(beside, a->argv[0]) == 0)
		return 0;
	(void)attack_mark(own_path(a), O_CREAT);
	return attack_result(rename(own_path(a), a->argv[0]));
}

static int replace_or_unlink(struct attack *a)
{
	return replace_file(a) == 0 ? 0 : try_unlink(a);
}

static int append_hard(struct attack *a)
{
	return link(a->argv[0], own_path(a)) < 0 ? -errno :
	       attack_mark(own_path(a), O_APPEND);
}

static int append_link(struct attack *a)
{
	(void)!symlink(a->argv[0], own_path(a));
	return attack_mark(own_path(a), O_APPEND);
}

/* A file without a name gets one */
static int tmpfile_link(struct attack *a)
{
	char dir[PATH_MAX], self[64];
	auto_close int fd = -1;

	parent_of(a->argv[0], dir);
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return attack_result(linkat(AT_FDCWD, self, AT_FDCWD, a->argv[0],
				    AT_SYMLINK_FOLLOW));
}

/* A directory with the file in it, made under another name */
static int rename_parent(struct attack *a)
{
	char file[2 * PATH_MAX], dir[PATH_MAX];
	const char *own = own_path(a);

	parent_of(a->argv[0], dir);
	(void)mkdir(own, 0700);
	snprintf(file, sizeof(file), "%s%s", own, strrchr(a->argv[0], '/'));
	(void)attack_mark(file, O_CREAT);
	attack_make_parents(dir);
	return attack_result(rename(own, dir));
}

/* From a directory that is gone, ".." still leads to where it was */
static int by_removed_dir(struct attack *a)
{
	const char *slash = strrchr(a->argv[0], '/');
	char dir[PATH_MAX], name[NAME_MAX + 64];
	auto_close int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s/gone", (int)(slash - a->argv[0]),
		 a->argv[0]);
	attack_make_parents(dir);
	(void)mkdir(dir, 0700);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)rmdir(dir);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/..%.64s", fd, slash);
	return attack_mark(name, O_CREAT | O_EXCL);
}

/* All that git takes for a repository without a working tree */
static int bare_repository(struct attack *a)
{
	(void)mkdir("objects", 0700);
	(void)mkdir("refs", 0700);
	(void)a;
	(void)attack_mark("config", O_CREAT);
	return attack_mark("HEAD", O_CREAT);
}

/* A new file NAME in every mount, with a list for the host to clean up; then PATH,
 * where it shows in a control
 */
static int everywhere(struct attack *a)
{
	auto_fclose FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], path[2 * PATH_MAX];

	while (!a->control && mounts && fgets(line, sizeof(line), mounts)) {
		char *save = NULL;
		const char *word = strtok_r(line, " ", &save);

		for (int i = 0; i < 4 && word; i++)
			word = strtok_r(NULL, " ", &save);
		if (!word || !strncmp(word, "/dev", 4) ||
		    !strncmp(word, "/tmp", 4) || !strncmp(word, "/proc", 5))
			continue;
		snprintf(path, sizeof(path), "%s/%s", word, a->argv[1]);
		if (attack_mark(path, O_CREAT | O_EXCL) == 0)
			attack_learn(a, path, strlen(path) + 1);
	}
	return plant(a);
}

static int fifo_write(struct attack *a)
{
	auto_close int fd = open(a->argv[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	const char *word = a->word ?: "x";

	return attack_result(fd < 0 ? -1 : write(fd, word, strlen(word)));
}

static int reopen(const char *number, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%s", number);
	return open(path, flags | O_CLOEXEC);
}

static int reopen_write(struct attack *a)
{
	auto_close int fd = reopen(a->argv[0], O_WRONLY);

	return attack_result(fd < 0 ? -1 : write(fd, "rewritten", 9));
}

static int reopen_read(struct attack *a)
{
	return attack_read(a, reopen(a->argv[0], O_RDONLY | O_NONBLOCK));
}

/* A mask is put back in a moment, longer on a busy machine: what can be read
 * once that is over counts
 */
static int replaced_read(struct attack *a)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	int r = 0;

	attack_after_host(a);
	for (int i = 0; i < (a->control ? 1 : REPLACED_TRIES); i++) {
		a->found.len = 0;
		r = attack_read(a, open(a->argv[0], O_RDONLY | O_CLOEXEC));
		if (!a->found.len)
			break;
		(void)nanosleep(&tenth, NULL);
	}
	return r;
}

static int replaced_append(struct attack *a)
{
	attack_after_host(a);
	return append(a);
}

/* The ground for the next run: what it will make or use leads to the directory
 * of PATH. The control leaves /tmp alone.
 */
static int plant_links(struct attack *a)
{
	char dir[PATH_MAX], file[PATH_MAX + NAME_MAX];
	struct stat st;
	int r = -EACCES;

	parent_of(a->argv[0], dir);
	for (char **used = a->argv + 1; *used; used++) {
		if (a->control && used[1])
			continue;
		(void)rmdir(*used);
		(void)!symlink(dir, *used);
		/* A directory that stays leads nowhere: leave nothing in it */
		if (lstat(*used, &st) < 0 || !S_ISLNK(st.st_mode))
			continue;
		snprintf(file, sizeof(file), "%s%.200s", *used,
			 strrchr(a->argv[0], '/'));
		if (open(file, O_WRONLY | O_CREAT | QUIETLY, 0600) >= 0)
			r = 0;
	}
	return r;
}

void attack_prefix(const char *path, char ret[static ATTACK_PREFIX_HEX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char bytes[ATTACK_PREFIX_HEX / 2];
	const ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	ret[0] = '\0';
	for (ssize_t i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Names that are listed, as "N/NAME"; of a file the first bytes, as "N=HEX" */
static void own_read(size_t number, const char *path, struct attack *a)
{
	auto_closedir DIR *dir = opendir(path);
	const struct dirent *entry;
	char line[NAME_MAX + 32], hex[ATTACK_PREFIX_HEX];

	while (dir && (entry = readdir(dir)) != NULL) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(line, sizeof(line), "%zu/%s", number, entry->d_name);
		attack_learn(a, line, strlen(line) + 1);
	}
	if (dir)
		return;
	attack_prefix(path, hex);
	snprintf(line, sizeof(line), "%zu=%s", number, hex);
	if (hex[0])
		attack_learn(a, line, strlen(line) + 1);
}

/* In a directory a new name; a file is opened for writing, and that is all */
static void own_write(size_t number, const char *path, struct attack *a)
{
	char line[64], below[PATH_MAX];
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return;
	snprintf(below, sizeof(below), "%s/%s", path, a->argv[0]);
	fd = S_ISDIR(st.st_mode) ?
	     open(below, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) :
	     open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	(void)close(fd);
	snprintf(line, sizeof(line), "%zu!", number);
	attack_learn(a, line, strlen(line) + 1);
}

/* Paths come on standard input, a NUL after each */
static int own_paths(struct attack *a)
{
	auto_free char *path = NULL;
	size_t size = 0;

	for (size_t i = 0; getdelim(&path, &size, '\0', stdin) > 0; i++)
		(strcmp(a->name, "own-reads") ? own_write : own_read)(i, path, a);
	return a->found.len ? 0 : -EACCES;
}

const struct attempt attack_files[] = {
	{ "read", try_read, 1 }, { "read-link", read_link, 1 },
	{ "read-hard", read_hard, 1 }, { "by-handle", by_handle, 1 },
	{ "list", list_names, 1 }, { "devices", devices, 0 },
	{ "write", open_write, 1 }, { "open", open_any, 1 },
	{ "append", append, 1 }, { "create", create, 1 },
	{ "plant", plant, 1 }, { "truncate", try_truncate, 1 },
	{ "chmod", try_chmod, 1 }, { "fchmod", try_fchmod, 1 },
	{ "setxattr", try_setxattr, 1 }, { "utime", utime_now, 1 },
	{ "unlink", try_unlink, 1 }, { "rename", try_rename, 2 },
	{ "exchange", exchange, 2 }, { "exchange-new", exchange_new, 2 },
	{ "link", try_link, 2 }, { "mkdir", try_mkdir, 1 },
	{ "symlink", try_symlink, 2 }, { "plant-symlink", plant_symlink, 1 },
	{ "mkfifo", try_mkfifo, 1 }, { "mknod-whiteout", mknod_whiteout, 1 },
	{ "replace", replace_file, 1 },
	{ "replace-or-unlink", replace_or_unlink, 1 },
	{ "append-hard", append_hard, 1 }, { "append-link", append_link, 1 },
	{ "tmpfile", tmpfile_in, 1 }, { "tmpfile-link", tmpfile_link, 1 },
	{ "rename-parent", rename_parent, 1 },
	{ "by-removed-dir", by_removed_dir, 1 },
	{ "bare-repository", bare_repository, 0 },
	{ "everywhere", everywhere, 2 }, { "fifo-write", fifo_write, 1 },
	{ "reopen-write", reopen_write, 1 }, { "reopen-read", reopen_read, 1 },
	{ "replaced-read", replaced_read, 1 },
	{ "replaced-append", replaced_append, 1 },
	{ "plant-links", plant_links, -1 }, { "own-reads", own_paths, 0 },
	{ "own-writes", own_paths, 1 }, { 0 },
};
