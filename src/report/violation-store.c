/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/violation-store.c - runs and their refusals, in $XDG_STATE_HOME/cloche
 *
 * Theory of operation: a writer compares the inode behind its descriptor with
 * the one behind the name before each write, so it follows a rotation by
 * another process. If the rotation falls between the two, the record lands in
 * the file that was just rotated, which is still complete and read. Rotation and
 * clearing take an exclusive lock; the one that finds it taken leaves the
 * rotation to the holder and appends. Readers take it shared, so files keep
 * their names while they are read. The lock's time of modification is that of
 * the last rotation.
 */

#include "report/violation-store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "report/run-record.h"
#include "report/violation.h"

static const char NAME[] = "violations.jsonl";
static const char LOCK[] = "violations.lock";

/**
 * struct violation_store - An open store
 * @dir:	The directory
 * @lock:	Held exclusively to rename and remove, shared to read
 * @fd:		The newest file, or -1 before the first write
 */
struct violation_store {
	int dir, lock, fd;
	size_t file_max;
	char *path;
};

/* A start asks nine times, and each time the links on the way would be followed */
char *violation_store_default_dir(void)
{
	static const char *home, *state;
	static char *dir;

	if (!dir || home != getenv("HOME") || state != getenv("XDG_STATE_HOME")) {
		auto_free char *top = fs_state_home();

		home = getenv("HOME");
		state = getenv("XDG_STATE_HOME");
		free(dir);
		dir = top ? path_join(top, "cloche") : NULL;
	}
	return dir ? mem_strdup(dir) : NULL;
}

int violation_store_new(const char *dir, size_t file_max, struct violation_store **ret,
	      struct err *err)
{
	auto_close int fd = fs_open_private_dir(dir, err);
	auto_close int lock = -1;
	struct violation_store *store;

	if (fd < 0)
		return fd;
	/* A descriptor for reading is enough for a lock, also on a read-only file system */
	lock = openat(fd, LOCK, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (lock < 0)
		return fail_errno(err, "cannot open '%s/%s'", dir, LOCK);

	store = mem_zalloc(sizeof(*store));
	store->dir = take_fd(&fd);
	store->lock = take_fd(&lock);
	store->fd = -1;
	store->file_max = file_max;
	store->path = mem_strdup(dir);
	*ret = store;
	return 0;
}

int violation_store_open(bool create, struct violation_store **ret, struct err *err)
{
	auto_free char *dir = violation_store_default_dir();

	if (!dir)
		return fail(err, -ENOENT, "no home directory; set XDG_STATE_HOME");
	if (!create && access(dir, F_OK) < 0 && errno == ENOENT)
		return 0;
	return violation_store_new(dir, VIOLATION_STORE_FILE_MAX, ret, err);
}

void violation_store_free(struct violation_store *store)
{
	if (!store)
		return;
	close_fd(&store->dir);
	close_fd(&store->lock);
	close_fd(&store->fd);
	free(store->path);
	free(store);
}

/* The name of file @i, 0 being the newest */
static void file_name(unsigned int i, char ret[NAME_MAX])
{
	snprintf(ret, NAME_MAX, i ? "%s.%u" : "%s", NAME, i);
}

/* True if @fd is still the file called NAME */
static bool is_current(const struct violation_store *store, int fd)
{
	struct stat named, open;

	return fd >= 0 && !fstat(fd, &open) &&
	       !fstatat(store->dir, NAME, &named, AT_SYMLINK_NOFOLLOW) &&
	       named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

static int open_current(struct violation_store *store)
{
	if (is_current(store, store->fd))
		return 0;
	close_fd(&store->fd);
	store->fd = openat(store->dir, NAME,
			   O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
			   O_NONBLOCK | O_CLOEXEC, 0600);
	return store->fd < 0 ? -errno : 0;
}

enum { DAY = 24 * 60 * 60, PERIOD = VIOLATION_STORE_DAYS * DAY / VIOLATION_STORE_FILES };

/* True if it was last modified more than @seconds ago; a time in the future is not */
static bool is_older(const struct stat *st, time_t seconds)
{
	return st->st_mtime < time(NULL) - seconds;
}

/* The newest file, of @size bytes, is to be rotated before @more are added */
static bool is_due(const struct violation_store *store, off_t size, size_t more)
{
	struct stat lock;

	return size && ((size_t)size + more > store->file_max ||
			(!fstat(store->lock, &lock) && is_older(&lock, PERIOD)));
}

static void remove_old(const struct violation_store *store)
{
	for (unsigned int i = 1; i < VIOLATION_STORE_FILES; i++) {
		char name[NAME_MAX];
		struct stat st;

		file_name(i, name);
		if (!fstatat(store->dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    is_older(&st, (VIOLATION_STORE_FILES - 1) * PERIOD))
			(void)unlinkat(store->dir, name, 0);
	}
}

/* Rotate the newest file if that is still due; at most one process does it */
static void rotate(struct violation_store *store, size_t more)
{
	struct stat st;

	if (flock(store->lock, LOCK_EX | LOCK_NB) < 0)
		return;
	if (!fstatat(store->dir, NAME, &st, AT_SYMLINK_NOFOLLOW) &&
	    is_due(store, st.st_size, more)) {
		for (unsigned int i = VIOLATION_STORE_FILES - 1; i > 0; i--) {
			char from[NAME_MAX], to[NAME_MAX];

			file_name(i - 1, from);
			file_name(i, to);
			(void)renameat(store->dir, from, store->dir, to);
		}
		(void)futimens(store->lock, NULL);
		remove_old(store);
	}
	(void)flock(store->lock, LOCK_UN);
}

static int append_line(struct violation_store *store, const struct buf *line)
{
	struct stat st;
	ssize_t n;
	int r = open_current(store);

	if (r < 0)
		return r;
	if (fstat(store->fd, &st) < 0)
		return -errno;
	if (is_due(store, st.st_size, line->len)) {
		rotate(store, line->len);
		r = open_current(store);
		if (r < 0)
			return r;
	}

	n = write(store->fd, line->p, line->len);
	if (n < 0)
		return -errno;
	if ((size_t)n < line->len) {
		/* A full disk: end the torn line, so that only it is lost */
		(void)!write(store->fd, "\n", 1);
		return -ENOSPC;
	}
	return 0;
}

int violation_store_append(struct violation_store *store, const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	violation_to_json(v, &line);
	return append_line(store, &line);
}

int violation_store_append_run(struct violation_store *store, const struct run_record *run)
{
	auto_buf struct buf line = { 0 };

	run_record_to_json(run, &line);
	return append_line(store, &line);
}

/**
 * struct consumer - A callback for the records of one kind
 */
struct consumer {
	store_fn violation;
	store_run_fn run;
	void *arg;
};

static int hand_on(void *arg, const char *line, size_t n, uint64_t offset)
{
	const struct consumer *to = arg;
	struct run_record run;
	struct violation v;
	int r = 0;

	(void)offset;
	if (to->run && run_record_from_json(line, n, &run) == 0) {
		r = to->run(to->arg, &run);
		run_record_done(&run);
	} else if (to->violation && violation_from_json(line, n, &v, NULL) == 0) {
		r = to->violation(to->arg, &v);
		violation_done(&v);
	}
	return r;
}

static int open_file(const struct violation_store *store, unsigned int i)
{
	char name[NAME_MAX];

	file_name(i, name);
	return openat(store->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int violation_store_watch(const struct violation_store *store, struct err *err)
{
	auto_close int watch = inotify_init1(IN_CLOEXEC);

	if (watch < 0 || inotify_add_watch(watch, store->path, IN_MODIFY |
					   IN_CREATE | IN_MOVE) < 0)
		return fail(err, -errno, "cannot watch '%s': %s", store->path,
			    sys_inotify_why(errno));
	return take_fd(&watch);
}

/* Which of the files of @cursor that is; VIOLATION_STORE_FILES if none */
static size_t cursor_find(const struct store_cursor *cursor, uint64_t inode, uint64_t born)
{
	size_t i = 0;

	while (i < VIOLATION_STORE_FILES && (cursor->files[i].inode != inode ||
					     cursor->files[i].born != born))
		i++;
	return i;
}

/* Hand on the whole lines of @fd behind *@offset, and move it */
static int read_lines(int fd, uint64_t *offset, store_line_fn fn, void *arg)
{
	auto_buf struct buf rest = { 0 };
	char chunk[1 << 16];
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)(*offset + rest.len))) > 0) {
		size_t start = 0;
		const char *end;

		buf_add(&rest, chunk, (size_t)n);
		while ((end = memchr(rest.p + start, '\n', rest.len - start)) != NULL) {
			const size_t len = (size_t)(end - rest.p) - start;
			const int r = fn(arg, rest.p + start, len, *offset);

			if (r)
				return r;
			*offset += len + 1;
			start += len + 1;
		}
		rest.len -= start;
		memmove(rest.p, rest.p + start, rest.len);
		if (rest.len > VIOLATION_LINE_MAX) {	/* No line of ours: pass over it */
			*offset += rest.len;
			rest.len = 0;
		}
	}
	return n < 0 ? -errno : 0;
}

/* Pass over a line; with an @arg, stop there */
static int pass_over(void *arg, const char *line, size_t n, uint64_t offset)
{
	(void)line;
	(void)n;
	(void)offset;
	return arg != NULL;
}

static int read_file_at(const struct violation_store *store, unsigned int i,
			const struct store_cursor *from, struct store_cursor *to,
			store_line_fn fn, void *arg)
{
	auto_close int fd = open_file(store, i);
	struct stat st;
	size_t known;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	to->files[i].inode = st.st_ino;
	to->files[i].born = (uint64_t)btime_of(fd);
	known = cursor_find(from, st.st_ino, to->files[i].born);
	to->files[i].offset = known < VIOLATION_STORE_FILES ? from->files[known].offset : 0;
	/* The first line that is read of a larger file is torn, and no record */
	if (st.st_size > VIOLATION_STORE_READ_MAX &&
	    to->files[i].offset < (uint64_t)st.st_size - VIOLATION_STORE_READ_MAX)
		to->files[i].offset = (uint64_t)st.st_size - VIOLATION_STORE_READ_MAX;
	return read_lines(fd, &to->files[i].offset, fn, arg);
}

/* Where @fn stops, the files that were not reached keep what @from says of them */
int violation_store_read(struct violation_store *store, struct store_cursor *cursor,
			 store_line_fn fn, void *arg, bool *lost, struct err *err)
{
	const struct store_cursor from = *cursor;
	struct store_cursor to = { 0 };
	const uint64_t newest = from.files[0].inode;
	int r = 0;

	if (flock(store->lock, LOCK_SH) < 0)
		return fail_errno(err, "cannot lock '%s'", store->path);
	for (unsigned int i = VIOLATION_STORE_FILES; i > 0; i--) {
		const int stopped = read_file_at(store, i - 1, &from, &to, r ? pass_over : fn,
						 r ? store : arg);

		r = r ? r : stopped;
	}
	(void)flock(store->lock, LOCK_UN);
	*lost = newest && cursor_find(&to, newest, from.files[0].born) == VIOLATION_STORE_FILES;
	*cursor = to;
	return r < 0 ? fail(err, r, "cannot read '%s': %s", store->path, strerror(-r)) : r;
}

static int each_record(struct violation_store *store, struct consumer to, struct err *err)
{
	struct store_cursor start = { 0 };
	bool lost;

	return store ? violation_store_read(store, &start, hand_on, &to, &lost, err) : 0;
}

int violation_store_each(struct violation_store *store, store_fn fn, void *arg, struct err *err)
{
	return each_record(store, (struct consumer){ .violation = fn, .arg = arg }, err);
}

int violation_store_each_run(struct violation_store *store, store_run_fn fn, void *arg,
			     struct err *err)
{
	return each_record(store, (struct consumer){ .run = fn, .arg = arg }, err);
}

static int keep_line(void *arg, const char *line, size_t n, uint64_t offset)
{
	struct buf *lines = arg;

	(void)offset;
	if (lines->len > VIOLATION_LINE_MAX)
		return 1;
	buf_add(lines, line, n);
	buf_addc(lines, '\n');
	return 0;
}

/* @fn may block, and is called without the lock */
static int hand_on_all(const struct buf *lines, struct consumer *to)
{
	const char *end;
	int r = 0;

	for (const char *at = lines->p; !r && at < lines->p + lines->len; at = end + 1) {
		end = memchr(at, '\n', lines->len - (size_t)(at - lines->p));
		r = hand_on(to, at, (size_t)(end - at), 0);
	}
	return r;
}

int violation_store_follow(struct violation_store *store, store_fn fn, void *arg, struct err *err)
{
	struct consumer to = { .violation = fn, .arg = arg };
	/* Watch first: what is written from now on is announced */
	auto_close int watch = violation_store_watch(store, err);
	struct store_cursor cursor = { 0 };
	char events[4096];
	bool lost;
	int r = watch < 0 ? watch :
		violation_store_read(store, &cursor, pass_over, NULL, &lost, err);

	while (!r) {
		auto_buf struct buf lines = { 0 };
		const int more = violation_store_read(store, &cursor, keep_line, &lines, &lost,
						      err);

		r = more < 0 ? more : hand_on_all(&lines, &to);
		if (!r && !more && read(watch, events, sizeof(events)) < 0 && errno != EINTR)
			r = fail_errno(err, "cannot watch '%s'", store->path);
	}
	return r;
}

int violation_store_clear(struct violation_store *store, struct err *err)
{
	int r = 0;

	if (flock(store->lock, LOCK_EX) < 0)
		return fail_errno(err, "cannot lock '%s'", store->path);
	for (unsigned int i = VIOLATION_STORE_FILES; i > 0; i--) {
		char name[NAME_MAX];

		file_name(i - 1, name);
		if (unlinkat(store->dir, name, 0) < 0 && errno != ENOENT)
			r = fail_errno(err, "cannot remove '%s/%s'",
				       store->path, name);
	}
	(void)flock(store->lock, LOCK_UN);
	return r;
}
