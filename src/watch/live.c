/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/live.c - settings files that change while a command runs
 *
 * Theory of operation: inotify tells. How much a user may watch is limited, and
 * a command is the same user: where nothing is left the files are looked at, again
 * and again, or whoever is to be denied something could see to it that nobody
 * hears of that.
 */

#include "watch/live.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum { LOOK_EVERY_MS = 200 };

/**
 * struct live_file - One file
 * @wd:		The watch on @dir
 * @dir:	The nearest directory above it that exists
 * @seen:	What it was when it was looked at last
 */
struct live_file {
	char *path, *dir;
	int wd;
	struct stat seen;
};

/**
 * struct live - @looks: nothing can be watched; @fd is a timer
 */
struct live {
	int fd;
	bool looks;
	void (*fn)(void *arg);
	void *arg;
	struct { struct live_file *v; size_t len, cap; } files;
};

/* Watch the nearest directory above @f; again after something was made */
static void watch(struct live *live, struct live_file *f)
{
	auto_free char *dir = path_parent(f->path);
	int wd;

	for (;;) {
		char *above;

		/* Attributes: nobody may be able to read it any more */
		wd = inotify_add_watch(live->fd, dir, IN_CLOSE_WRITE |
				       IN_MOVED_TO | IN_CREATE | IN_ATTRIB |
				       IN_ONLYDIR);
		/* Not one above instead, if there is no room for this one */
		if (wd >= 0 || errno == ENOSPC || !strcmp(dir, "/"))
			break;
		above = path_parent(dir);
		free(dir);
		dir = above;
	}
	free(f->dir);
	f->dir = take_ptr(dir);
	f->wd = wd;
}

static bool has(const struct live *live, const char *path)
{
	for (size_t i = 0; i < live->files.len; i++) {
		if (!strcmp(live->files.v[i].path, path))
			return true;
	}
	return false;
}

/* Also where @path leads, if it is a link: that is what is edited */
static void add_file(struct live *live, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	for (const char *p = path; p; p = p == path ? real : NULL) {
		struct live_file *f;

		if (has(live, p) || live->files.len >= LIVE_FILES_MAX)
			continue;
		f = vec_push(&live->files);
		*f = (struct live_file){ .path = mem_strdup(p), .wd = -1 };
		watch(live, f);
	}
}

/* True if a file is another one than at the last look */
static bool look(struct live *live)
{
	bool changed = false;

	for (size_t i = 0; i < live->files.len; i++) {
		struct stat *seen = &live->files.v[i].seen, now = { 0 };

		if (stat(live->files.v[i].path, &now) < 0)
			continue;
		changed |= now.st_ino != seen->st_ino ||
			   now.st_dev != seen->st_dev ||
			   now.st_size != seen->st_size ||
			   now.st_ctim.tv_sec != seen->st_ctim.tv_sec ||
			   now.st_ctim.tv_nsec != seen->st_ctim.tv_nsec;
		*seen = now;
	}
	return changed;
}

static bool is_watched(const struct live *live)
{
	bool all = live->fd >= 0;

	for (size_t i = 0; i < live->files.len; i++)
		all = all && live->files.v[i].wd >= 0;
	return all;
}

/* The new descriptor has another number than the old one */
static int begin_looking(struct live *live, struct err *err)
{
	const struct timespec step = { .tv_nsec = LOOK_EVERY_MS * 1000000 };
	const struct itimerspec when = { step, step };
	auto_close int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					   TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0)
		return fail_errno(err, "cannot watch the settings");
	close_fd(&live->fd);
	live->fd = take_fd(&fd);
	live->looks = true;
	(void)look(live);
	return 0;
}

int live_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct live **ret, struct err *err)
{
	struct live *live = mem_zalloc(sizeof(*live));
	int r = 0;

	live->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	live->fn = fn;
	live->arg = arg;
	for (size_t i = 0; i < n; i++)
		add_file(live, files[i]);
	if (!is_watched(live))
		r = begin_looking(live, err);
	if (r < 0)
		live_free(live);
	else
		*ret = live;
	return r;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->files.len; i++) {
		free(live->files.v[i].path);
		free(live->files.v[i].dir);
	}
	free(live->files.v);
	close_fd(&live->fd);
	free(live);
}

int live_fd(const struct live *live)
{
	return live->fd;
}

/* A link is complete when it is made */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* True if a file was written. Directories on the way to one are watched. */
static bool take_event(struct live *live, const struct inotify_event *event)
{
	bool changed = event->mask & IN_Q_OVERFLOW;

	for (size_t i = 0; i < live->files.len; i++) {
		struct live_file *f = &live->files.v[i];
		auto_free char *made = NULL;

		if (f->wd != event->wd || !event->len)
			continue;
		made = path_join(f->dir, event->name);
		if (!strcmp(made, f->path)) {
			const bool link = is_link(made);

			changed |= link || !(event->mask & IN_CREATE);
			if (link)
				add_file(live, made);
		} else if (path_is_below(made, f->path)) {
			watch(live, f);
			/* It may be complete already: a directory moved here */
			changed |= !access(f->path, F_OK);
		}
	}
	return changed;
}

void live_dispatch(struct live *live)
{
	char room[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	bool changed = live->looks && look(live);
	ssize_t n;

	while ((n = read(live->fd, room, sizeof(room))) > 0 && !live->looks) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(room + at);

			changed |= take_event(live, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	/* What came before the first look was not heard of */
	if (!live->looks && !is_watched(live))
		changed |= begin_looking(live, NULL) == 0;
	if (changed)
		live->fn(live->arg);
}
