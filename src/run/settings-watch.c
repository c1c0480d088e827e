/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/live.c - settings files that change while a command runs
 *
 * Theory of operation: inotify tells. How much a user may watch is limited, and
 * a command is the same user: where nothing is left the files are looked at, again
 * and again, or whoever is to be denied something could see to it that nobody
 * hears of that.
 *
 * An editor may remove a file on its way to a new one: what is gone counts when it
 * has been gone for a moment. The timer for that is made when it is needed, and
 * then the loop waits for both.
 */

#include "watch/live.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum {
	LOOK_EVERY_MS = 200, GONE_MS = 200,
	READS_MAX = 8,	/* At once: who makes files without end is not waited for */
};

/**
 * struct live_file - One file
 * @wd:		The watch on @dir
 * @dir:	The nearest directory above it that exists
 * @seen:	What it was when it was looked at last
 * @gone:	It was there, and has been removed
 */
struct live_file {
	char *path, *dir;
	int wd;
	struct stat seen;
	bool gone;
};

/**
 * struct live - What is waited for
 * @fd:		All of it
 * @watch:	inotify, where it is not @fd itself; -1
 * @moment:	The timer for what is gone; -1
 * @looks:	Nothing can be watched; @fd is a timer
 */
struct live {
	int fd, watch, moment;
	bool looks;
	void (*fn)(void *arg);
	void *arg;
	struct { struct live_file *v; size_t len, cap; } files;
};

static int inotify_of(const struct live *live)
{
	return live->watch >= 0 ? live->watch : live->fd;
}

/* Watch the nearest directory above @f; again after something was made */
static void watch(struct live *live, struct live_file *f)
{
	auto_free char *dir = path_parent(f->path);
	int wd;

	for (;;) {
		char *above;

		/* Attributes: nobody may be able to read it any more */
		wd = inotify_add_watch(inotify_of(live), dir, IN_CLOSE_WRITE |
				       IN_MOVED_TO | IN_CREATE | IN_ATTRIB |
				       IN_DELETE | IN_MOVED_FROM |
				       IN_MOVE_SELF | IN_ONLYDIR);
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

/* True if a file is another one than at the last look, or gone since the one
 * before it
 */
static bool look(struct live *live)
{
	bool changed = false;

	for (size_t i = 0; i < live->files.len; i++) {
		struct live_file *f = &live->files.v[i];
		struct stat *seen = &f->seen, now = { 0 };

		if (stat(f->path, &now) < 0) {
			changed |= f->gone;
			f->gone = !f->gone && seen->st_ino;
			if (!f->gone)
				*seen = now;
			continue;
		}
		f->gone = false;
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
static int begin_looking(struct live *live)
{
	const struct timespec step = { .tv_nsec = LOOK_EVERY_MS * 1000000 };
	const struct itimerspec when = { step, step };
	auto_close int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					   TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0)
		return -errno;
	close_fd(&live->watch);
	close_fd(&live->moment);
	close_fd(&live->fd);
	live->fd = take_fd(&fd);
	live->looks = true;
	(void)look(live);
	return 0;
}

int live_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct live **ret)
{
	struct live *live = mem_zalloc(sizeof(*live));
	int r = 0;

	live->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	live->watch = live->moment = -1;
	live->fn = fn;
	live->arg = arg;
	for (size_t i = 0; i < n; i++)
		add_file(live, files[i]);
	if (!is_watched(live))
		r = begin_looking(live);
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
	close_fd(&live->watch);
	close_fd(&live->moment);
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

/* Wait for both; 0 or -errno */
static int start_moment(struct live *live)
{
	struct epoll_event event = { .events = EPOLLIN };
	auto_close int moment = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					       TFD_NONBLOCK);
	auto_close int both = epoll_create1(EPOLL_CLOEXEC);

	if (moment < 0 || both < 0 ||
	    epoll_ctl(both, EPOLL_CTL_ADD, live->fd, &event) < 0 ||
	    epoll_ctl(both, EPOLL_CTL_ADD, moment, &event) < 0)
		return -errno;
	live->watch = live->fd;
	live->fd = take_fd(&both);
	live->moment = take_fd(&moment);
	return 0;
}

/* True if it cannot be waited for: then it counts at once */
static bool await_gone(struct live *live, struct live_file *f)
{
	const struct itimerspec when = {
		.it_value.tv_nsec = GONE_MS * 1000000,
	};

	f->gone = true;
	if (live->moment < 0 && start_moment(live) < 0)
		return true;
	return timerfd_settime(live->moment, 0, &when, NULL) < 0;
}

/* True if one that was removed is not there, or is no file any more */
static bool is_gone(const struct live *live)
{
	struct stat st;

	for (size_t i = 0; i < live->files.len; i++) {
		const struct live_file *f = &live->files.v[i];

		if (f->gone && (stat(f->path, &st) < 0 ||
				!S_ISREG(st.st_mode)))
			return true;
	}
	return false;
}

/* The moment is over: true if it lasts */
static bool end_moment(struct live *live)
{
	const bool gone = is_gone(live);
	uint64_t times;

	if (live->moment < 0 ||
	    read(live->moment, &times, sizeof(times)) != sizeof(times))
		return false;
	for (size_t i = 0; i < live->files.len; i++)
		live->files.v[i].gone = false;
	return gone;
}

/* The directory itself was removed or moved away, or the file out of it */
static bool take_loss(struct live *live, const struct inotify_event *event,
		      struct live_file *f)
{
	auto_free char *lost = event->len ? path_join(f->dir, event->name) : NULL;

	if (event->mask & (IN_MOVE_SELF | IN_IGNORED))
		watch(live, f);
	else if (!lost || strcmp(lost, f->path) != 0)
		return false;
	return await_gone(live, f);
}

/* True if a file was written. Directories on the way to one are watched. */
static bool take_event(struct live *live, const struct inotify_event *event)
{
	bool changed = event->mask & IN_Q_OVERFLOW;

	for (size_t i = 0; i < live->files.len; i++) {
		struct live_file *f = &live->files.v[i];
		auto_free char *made = NULL;

		if (f->wd != event->wd)
			continue;
		if (event->mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF |
				   IN_IGNORED)) {
			changed |= take_loss(live, event, f);
			continue;
		}
		if (!event->len)
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
	const bool lost = end_moment(live);
	ssize_t n;

	for (int i = 0; i < READS_MAX &&
	     (n = read(inotify_of(live), room, sizeof(room))) > 0 &&
	     !live->looks; i++) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(room + at);

			changed |= take_event(live, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	/* What came before the first look was not heard of */
	if (!live->looks && !is_watched(live))
		changed |= begin_looking(live) == 0;
	/* What changed beside a loss is read when that is over */
	if (lost || (changed && (live->moment < 0 || !is_gone(live))))
		live->fn(live->arg);
}
