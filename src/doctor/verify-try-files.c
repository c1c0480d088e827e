/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-files.c - attempts on files */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/verify-row.h"
#include "doctor/verify-try.h"

#define PATH(w, text, name) \
	char name[PATH_MAX]; \
	world_path(w, text, NULL, name, sizeof(name))

enum { REPLACED_TRIES = 20 };

static const char mark[] = "changed by cloche verify\n";

/* A free name in the project; every attempt has its own */
static void own_path(const struct world *w, const struct found *f, char *ret,
		     size_t size)
{
	snprintf(ret, size, "%s/project/own-%zu", w->root, f->row);
}

static void write_mark(struct found *f, const char *path, int flags)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	found_result(f, fd < 0 ? -1 : write(fd, mark, sizeof(mark) - 1));
}

static void make_parents(const char *path)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(dir, 0700);
		*p = '/';
	}
}

/* "a>b" */
static void two_paths(const struct world *w, const char *argument, char *a,
		      char *b)
{
	const char *gt = strchr(argument, '>');
	char first[PATH_MAX];

	snprintf(first, sizeof(first), "%.*s", (int)(gt - argument), argument);
	world_path(w, first, NULL, a, PATH_MAX);
	world_path(w, gt + 1, NULL, b, PATH_MAX);
}

void attempt_read(const struct world *w, const char *argument, struct found *f)
{
	PATH(w, argument, path);

	found_fd(f, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/* The argument is what --deny-read was given: the directory, or the file */
void attempt_denied(const struct world *w, const char *argument,
		    struct found *f)
{
	attempt_read(w, argument, f);
	if (!f->len)
		attempt_read(w, "A/denied/file", f);
}

void attempt_read_link(const struct world *w, const char *argument,
		       struct found *f)
{
	PATH(w, argument, path);
	char own[PATH_MAX];

	own_path(w, f, own, sizeof(own));
	(void)!symlink(path, own);
	found_fd(f, open(own, O_RDONLY | O_CLOEXEC));
}

void attempt_read_hard(const struct world *w, const char *argument,
		       struct found *f)
{
	PATH(w, argument, path);
	char own[PATH_MAX];

	own_path(w, f, own, sizeof(own));
	if (link(path, own) < 0)
		found_result(f, -1);
	else
		found_fd(f, open(own, O_RDONLY | O_CLOEXEC));
}

void attempt_read_handle(const struct world *w, const char *argument,
			 struct found *f)
{
	struct {
		struct file_handle head;
		char room[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	auto_close int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	PATH(w, argument, path);
	int id;

	if (name_to_handle_at(AT_FDCWD, path, &handle.head, &id, 0) < 0)
		found_result(f, -1);
	else
		found_fd(f, open_by_handle_at(dir, &handle.head, O_RDONLY));
}

void attempt_list(const struct world *w, const char *argument, struct found *f)
{
	PATH(w, argument, path);
	auto_closedir DIR *dir = opendir(path);
	const struct dirent *entry;

	found_result(f, dir ? 0 : -1);
	while (dir && (entry = readdir(dir)) != NULL) {
		/* An empty mask has these two as well */
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			found_bytes(f, entry->d_name,
				    strlen(entry->d_name) + 1);
	}
}

void attempt_devices(const struct world *w, const char *argument,
		     struct found *f)
{
	static const char usual[] = " . .. null zero full random urandom tty "
		"ptmx pts shm mqueue fd stdin stdout stderr console core ";
	auto_closedir DIR *dir = opendir("/dev");
	const struct dirent *entry;

	(void)w, (void)argument;
	found_result(f, dir ? 0 : -1);
	while (dir && (entry = readdir(dir)) != NULL) {
		char word[NAME_MAX + 3];

		snprintf(word, sizeof(word), " %s ", entry->d_name);
		if (!strstr(usual, word))
			found_bytes(f, word, strlen(word));
	}
	if (!f->len)
		f->error = ENOENT;
}

void attempt_write(const struct world *w, const char *argument,
		   struct found *f)
{
	PATH(w, argument, path);

	write_mark(f, path, O_APPEND);
}

void attempt_create(const struct world *w, const char *argument,
		    struct found *f)
{
	PATH(w, argument, path);

	make_parents(path);
	write_mark(f, path, O_CREAT | O_EXCL);
}

void attempt_truncate(const struct world *w, const char *argument,
		      struct found *f)
{
	PATH(w, argument, path);

	found_result(f, truncate(path, 0));
}

void attempt_chmod(const struct world *w, const char *argument,
		   struct found *f)
{
	PATH(w, argument, path);

	found_result(f, chmod(path, 0777));
}

/* The mode by a descriptor that was opened to read */
void attempt_fchmod(const struct world *w, const char *argument,
		    struct found *f)
{
	PATH(w, argument, path);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	found_result(f, fd < 0 ? -1 : fchmod(fd, 0666));
}

void attempt_setxattr(const struct world *w, const char *argument,
		      struct found *f)
{
	PATH(w, argument, path);

	found_result(f, setxattr(path, "user.cloche", "x", 1, 0));
}

void attempt_utime(const struct world *w, const char *argument,
		   struct found *f)
{
	PATH(w, argument, path);

	found_result(f, utimensat(AT_FDCWD, path, NULL, 0));
}

void attempt_unlink(const struct world *w, const char *argument,
		    struct found *f)
{
	PATH(w, argument, path);

	found_result(f, unlink(path));
}

void attempt_rename(const struct world *w, const char *argument,
		    struct found *f)
{
	char a[PATH_MAX], b[PATH_MAX];

	two_paths(w, argument, a, b);
	found_result(f, rename(a, b));
}

void attempt_exchange(const struct world *w, const char *argument,
		      struct found *f)
{
	char a[PATH_MAX], b[PATH_MAX];

	two_paths(w, argument, a, b);
	(void)mkdir(b, 0700);
	found_result(f, renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
}

/* A file of ours put in the place of another: from beside it, else from the
 * project
 */
void attempt_over(const struct world *w, const char *argument,
		  struct found *f)
{
	char own[PATH_MAX], beside[PATH_MAX + 8];
	PATH(w, argument, path);

	snprintf(beside, sizeof(beside), "%s-beside", path);
	write_mark(f, beside, O_CREAT);
	if (!f->error && rename(beside, path) == 0)
		return;
	own_path(w, f, own, sizeof(own));
	write_mark(f, own, O_CREAT);
	found_result(f, rename(own, path));
}

void attempt_write_hard(const struct world *w, const char *argument,
			struct found *f)
{
	char own[PATH_MAX];
	PATH(w, argument, path);

	own_path(w, f, own, sizeof(own));
	if (link(path, own) < 0)
		found_result(f, -1);
	else
		write_mark(f, own, O_APPEND);
}

void attempt_write_link(const struct world *w, const char *argument,
			struct found *f)
{
	char own[PATH_MAX];
	PATH(w, argument, path);

	own_path(w, f, own, sizeof(own));
	(void)!symlink(path, own);
	write_mark(f, own, O_APPEND);
}

void attempt_mkdir(const struct world *w, const char *argument,
		   struct found *f)
{
	PATH(w, argument, path);

	found_result(f, mkdir(path, 0700));
}

void attempt_symlink(const struct world *w, const char *argument,
		     struct found *f)
{
	PATH(w, argument, path);

	make_parents(path);
	found_result(f, symlink("/etc/passwd", path));
}

void attempt_mkfifo(const struct world *w, const char *argument,
		    struct found *f)
{
	PATH(w, argument, path);

	found_result(f, mkfifo(path, 0600));
}

/* A file without a name gets one */
void attempt_tmpfile(const struct world *w, const char *argument,
		     struct found *f)
{
	char dir[PATH_MAX], self[64];
	PATH(w, argument, path);
	auto_close int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path),
		 path);
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		found_result(f, -1);
		return;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	found_result(f, linkat(AT_FDCWD, self, AT_FDCWD, path,
			       AT_SYMLINK_FOLLOW));
}

/* A directory with the file in it, made under another name */
void attempt_arrive(const struct world *w, const char *argument,
		    struct found *f)
{
	char own[PATH_MAX], file[PATH_MAX], dir[PATH_MAX];
	PATH(w, argument, path);
	const char *slash = strrchr(path, '/');

	own_path(w, f, own, sizeof(own));
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	(void)mkdir(own, 0700);
	if (snprintf(file, sizeof(file), "%s%s", own, slash) < 0)
		return;
	write_mark(f, file, O_CREAT);
	make_parents(dir);
	found_result(f, rename(own, dir));
}

/* From a directory that is gone, ".." still leads to where it was */
void attempt_removed(const struct world *w, const char *argument,
		     struct found *f)
{
	PATH(w, argument, path);
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX], name[NAME_MAX + 64];
	auto_close int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s/gone", (int)(slash - path), path);
	make_parents(dir);
	(void)mkdir(dir, 0700);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)rmdir(dir);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/..%.64s", fd, slash);
	write_mark(f, name, O_CREAT | O_EXCL);
}

void attempt_settings(const struct world *w, const char *argument,
		      struct found *f)
{
	attempt_create(w, argument, f);
}

void attempt_program(const struct world *w, const char *argument,
		     struct found *f)
{
	attempt_over(w, argument, f);
	if (f->error)
		attempt_unlink(w, argument, f);
}

void attempt_companion(const struct world *w, const char *argument,
		       struct found *f)
{
	attempt_create(w, argument, f);
}

/* All that git takes for a repository without a working tree */
void attempt_bare(const struct world *w, const char *argument,
		  struct found *f)
{
	static const char *const parts[] = { "objects", "refs" };
	PATH(w, argument, dir);
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, parts[i]);
		(void)mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%sconfig", dir);
	write_mark(f, path, O_CREAT);
	snprintf(path, sizeof(path), "%sHEAD", dir);
	write_mark(f, path, O_CREAT);
}

/* Character device 0:0 needs no privilege outside */
void attempt_mknod(const struct world *w, const char *argument,
		   struct found *f)
{
	PATH(w, argument, path);

	found_result(f, mknod(path, S_IFCHR, makedev(0, 0)));
}

static void plant_everywhere(const struct world *w, FILE *mounts,
			     struct found *f)
{
	char line[PATH_MAX * 2], point[PATH_MAX], path[PATH_MAX * 2];

	while (fgets(line, sizeof(line), mounts)) {
		char *save = NULL;
		const char *word = strtok_r(line, " ", &save);

		for (int i = 0; i < 4 && word; i++)
			word = strtok_r(NULL, " ", &save);
		if (!word || !strncmp(word, "/dev", 4) ||
		    !strncmp(word, "/tmp", 4) || !strncmp(word, "/proc", 5))
			continue;
		snprintf(point, sizeof(point), "%s", word);
		snprintf(path, sizeof(path), "%s/%s", point, w->name);
		write_mark(f, path, O_CREAT | O_EXCL);
		if (!f->error)
			found_bytes(f, path, strlen(path) + 1);
	}
}

/* In every mount there is, with a list for whoever cleans up; and in the one
 * place where it shows in a control
 */
void attempt_everywhere(const struct world *w, const char *argument,
			struct found *f)
{
	auto_fclose FILE *mounts = fopen("/proc/self/mountinfo", "re");

	(void)argument;
	if (w->inside && mounts)
		plant_everywhere(w, mounts, f);
	attempt_create(w, "A/everywhere", f);
}

/* The host replaces the file now: it is told by a byte, and answers with one.
 * What could be seen only at once is not looked for.
 */
void try_after_host(struct found *f)
{
	const struct timespec quarter = { .tv_nsec = 250000000 };
	char byte = '\n';

	if (write(STDOUT_FILENO, "!\n", 2) < 0 ||
	    read(STDIN_FILENO, &byte, 1) < 0)
		f->error = errno;
	(void)nanosleep(&quarter, NULL);
}

void attempt_replaced_read(const struct world *w, const char *argument,
			   struct found *f)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	PATH(w, argument, path);

	if (w->inside)
		try_after_host(f);
	/* The mask is put back in a moment, longer on a busy machine: what can
	 * be read once that is over counts
	 */
	for (int i = 0; i < (w->inside ? REPLACED_TRIES : 1); i++) {
		f->len = 0;
		found_fd(f, open(path, O_RDONLY | O_CLOEXEC));
		if (!f->len)
			break;
		(void)nanosleep(&tenth, NULL);
	}
}

void attempt_replaced_write(const struct world *w, const char *argument,
			    struct found *f)
{
	PATH(w, argument, path);

	if (w->inside)
		try_after_host(f);
	write_mark(f, path, O_APPEND);
}
