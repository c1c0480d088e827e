/* SPDX-License-Identifier: Apache-2.0 */
/* watch/live.c - settings files that change while a command runs */

#include "watch/live.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

/**
 * struct live_file - One file
 * @wd:		The watch on @dir
 * @dir:	The nearest directory above it that exists
 */
struct live_file {
	char *path, *dir;
	int wd;
};

struct live {
	int fd;
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

		wd = inotify_add_watch(live->fd, dir, IN_CLOSE_WRITE |
				       IN_MOVED_TO | IN_CREATE | IN_ONLYDIR);
		if (wd >= 0 || !strcmp(dir, "/"))
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

int live_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct live **ret, struct err *err)
{
	struct live *live;
	const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot watch the settings");
	live = mem_zalloc(sizeof(*live));
	live->fd = fd;
	live->fn = fn;
	live->arg = arg;
	for (size_t i = 0; i < n; i++)
		add_file(live, files[i]);
	*ret = live;
	return 0;
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
	bool changed = false;
	ssize_t n;

	while ((n = read(live->fd, room, sizeof(room))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(room + at);

			changed |= take_event(live, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (changed)
		live->fn(live->arg);
}
