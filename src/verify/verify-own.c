/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/verify-own.c - the user's own files, under the user's own rules
 *
 * The scratch home cannot have what a user's rule names elsewhere. So whatever
 * exists of all that the rules hide or protect is tried where it is, from the
 * user's own directory: files are opened and a few bytes compared, nothing is
 * written to a file, and a new name in a directory is removed again.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/plan.h"
#include "verify/verify.h"
#include "view/view.h"

enum {
	FEED_MAX = 32 << 10,	/* Half of what a pipe holds */
	PREFIX = 8,		/* Bytes of a file that are compared */
};

/* The path numbered @want in @feed */
static const char *path_at(const struct buf *feed, unsigned long want)
{
	for (const char *p = feed->p; p && p < feed->p + feed->len;
	     p += strlen(p) + 1) {
		if (!want--)
			return p;
	}
	return NULL;
}

static size_t prefix_of(const char *path, char ret[static PREFIX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const ssize_t n = fd < 0 ? -1 : read(fd, ret, PREFIX);

	return n < 0 ? 0 : (size_t)n;
}

/* Names that are listed, as "N/NAME"; of a file the first bytes, as "N=HEX" */
static void try_read(size_t number, const char *path, struct attack *a)
{
	auto_closedir DIR *dir = opendir(path);
	const struct dirent *entry;
	char line[NAME_MAX + 32], bytes[PREFIX];
	const size_t n = dir ? 0 : prefix_of(path, bytes);
	int at = snprintf(line, sizeof(line), "%zu=", number);

	for (size_t i = 0; i < n; i++)
		at += snprintf(line + at, sizeof(line) - (size_t)at, "%02x",
			       (unsigned char)bytes[i]);
	if (n)
		attack_learn(a, line, strlen(line) + 1);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(line, sizeof(line), "%zu/%s", number, entry->d_name);
		attack_learn(a, line, strlen(line) + 1);
	}
}

/* In a directory a new name; a file is opened for writing, and that is all */
static void try_write(size_t number, const char *path, struct attack *a)
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

static int try_all(struct attack *a)
{
	const bool write = !strcmp(a->name, "own-writes");
	auto_buf struct buf feed = { 0 };
	char bytes[4096];
	size_t number = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		buf_add(&feed, bytes, (size_t)n);
	for (const char *p = feed.p; p && p < feed.p + feed.len;
	     p += strlen(p) + 1, number++) {
		if (write)
			try_write(number, p, a);
		else
			try_read(number, p, a);
	}
	return a->len ? 0 : -EACCES;
}

const struct attempt *own_attempt(const char *name)
{
	static const struct attempt own[] = {
		{ "own-reads", try_all, 0 }, { "own-writes", try_all, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (!strcmp(own[i].name, name))
			return &own[i];
	}
	return NULL;
}

/* What the rules forbid, exists, and could be had outside: the controls */
static void collect(const struct verify *v, bool write, struct buf *feed)
{
	const struct view *view = v->plan->view;
	const enum path_list list = write ? PATH_DENY_WRITE : PATH_DENY_READ;
	const char *last = "";

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];
		const size_t n = strlen(r->path) + 1;

		/* The sandbox's own /var/tmp is there, and holds our scratch */
		if (r->list != list || !strcmp(r->path, last) ||
		    !strcmp(r->path, VAR_TMP) ||
		    (!S_ISREG(r->mode) && !S_ISDIR(r->mode)) ||
		    feed->len + n > FEED_MAX ||
		    view_verdict(view, write ? VIEW_WRITE : VIEW_READ,
				 r->path).allowed ||
		    access(r->path, write ? W_OK : R_OK) < 0)
			continue;
		buf_add(feed, r->path, n);
		last = r->path;
	}
}

/* A name of the sandbox's own, in a place that is private to it */
static bool is_furnished(const struct verify *v, const char *name)
{
	const struct plan *plan = v->plan;

	if (path_is_within(name, v->exe))
		return true;
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (path_is_within(name, m->path))
			return true;
		for (size_t j = 0; m->kind == MOUNT_PRIVATE &&
				   j < plan->points.len; j++) {
			const struct plan_point *point = &plan->points.v[j];
			auto_free char *path = path_join(m->path, point->path);

			if (point->mask == m->mask && path_is_within(name, path))
				return true;
		}
	}
	return false;
}

static bool is_read(const struct verify *v, const char *path,
		    const char *rest)
{
	const struct view *view = v->plan->view;
	char bytes[PREFIX], hex[2 * PREFIX + 1] = "", name[PATH_MAX];
	struct stat st;

	if (*rest == '/') {
		snprintf(name, sizeof(name), "%s%s", path, rest);
		return lstat(name, &st) == 0 &&
		       !view_verdict(view, VIEW_READ, name).allowed &&
		       !(view_place(view, name) == VIEW_PRIVATE &&
			 is_furnished(v, name));
	}
	for (size_t i = 0, n = prefix_of(path, bytes); i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	return hex[0] && !strcmp(hex, rest + 1);
}

static bool is_written(const struct target *t, const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return true;	/* The open was all there is to it */
	snprintf(name, sizeof(name), "%s/%s", path, t->w.name);
	return unlink(name) == 0;
}

static void look(struct verify *v, bool write, const struct buf *feed,
		 struct verify_result *r)
{
	const struct found *f = &r->found;
	char list[ATTACK_FOUND_MAX + 1];

	memcpy(list, f->bytes, f->len);
	list[f->len] = '\0';
	for (const char *p = list; p < list + f->len; p += strlen(p) + 1) {
		char *rest;
		const char *path = path_at(feed, strtoul(p, &rest, 10));

		if (path && (write ? is_written(&v->target, path) :
				     is_read(v, path, rest)))
			r->own_hit = true;
	}
}

int verify_own(struct verify *v, struct err *err)
{
	const struct verify_row *rows = verify_rows;
	const size_t n = verify_rows_len;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const bool write = row_is(&rows[i], "own-writes");
		auto_buf struct buf feed = { 0 };

		if (!v->results[i].asked || rows[i].proof != PROOF_OWN)
			continue;
		collect(v, write, &feed);
		v->results[i].control = feed.len > 0;
		v->results[i].control_error = ENOENT;
		if (feed.len)
			r = verify_own_run(v, i, &feed, err);
		look(v, write, &feed, &v->results[i]);
	}
	return r;
}
