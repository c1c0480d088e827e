/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/verify-own.c - the user's own files, under the user's own rules
 *
 * The scratch home cannot have what a user's rule names elsewhere. So whatever
 * exists of all that the rules hide or protect is tried where it is, from the
 * user's own directory: files are opened and a few bytes compared, nothing is
 * written to a file, and a new name in a directory is removed again.
 */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/plan.h"
#include "verify/verify.h"
#include "view/view.h"

enum {
	FEED_MAX = 32 << 10,	/* Half of what a pipe holds */
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

/* What the rules forbid, exists, and could be had outside: the controls */
void own_collect(const struct verify *v, bool write, struct buf *feed)
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
	char hex[ATTACK_PREFIX_HEX], name[PATH_MAX];
	struct stat st;

	if (*rest == '/') {
		snprintf(name, sizeof(name), "%s%s", path, rest);
		return lstat(name, &st) == 0 &&
		       !view_verdict(view, VIEW_READ, name).allowed &&
		       !(view_place(view, name) == VIEW_PRIVATE &&
			 is_furnished(v, name));
	}
	attack_prefix(path, hex);
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

bool own_hit(const struct verify *v, bool write, const struct buf *feed,
	     const struct found *f)
{
	char list[ATTACK_FOUND_MAX + 1];
	bool hit = false;

	memcpy(list, f->bytes, f->len);
	list[f->len] = '\0';
	for (const char *p = list; p < list + f->len; p += strlen(p) + 1) {
		char *rest;
		const char *path = path_at(feed, strtoul(p, &rest, 10));

		/* Every new name must be removed: all of them are looked at */
		if (path && (write ? is_written(&v->target, path) :
				     is_read(v, path, rest)))
			hit = true;
	}
	return hit;
}
