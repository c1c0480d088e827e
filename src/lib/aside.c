/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/aside.c - --ephemeral: the store, and what is different in it
 *
 * Theory of operation: what an overlay writes is in its upper directory. A file
 * there is new or changed, a device 0:0 is a name that was removed, and a
 * directory marked opaque hides what the host has below it. A host's file that
 * changed after the store was made is told of: applying would undo that.
 */

#include "lib/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/aside-tree.h"
#include "lib/tmpdir.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"

enum { ROOTS_MAX = 1 << 20 };	/* Bytes of the list of roots */

const char *aside_kind_name(enum aside_kind kind)
{
	static const char *const names[] = {
		[ASIDE_ADDED] = "added", [ASIDE_MODIFIED] = "modified",
		[ASIDE_DELETED] = "deleted",
	};

	return names[kind];
}

char *aside_place(const struct policy *policy)
{
	auto_free char *name = path_id(policy->project);

	return policy->dirs[DIR_STATE] ?
	       mem_printf("%s/cloche/aside/%s", policy->dirs[DIR_STATE], name) :
	       NULL;
}

static int lock_store(struct aside *aside, bool make, struct err *err)
{
	char *real;

	aside->lock = make ? fs_open_private_dir(aside->dir, err) :
		      open(aside->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			   O_CLOEXEC);
	if (aside->lock < 0 && !make && errno == ENOENT)
		return 0;
	if (aside->lock < 0)
		return make ? aside->lock : fail_errno(err, "'%s'", aside->dir);
	if (flock(aside->lock, LOCK_EX | LOCK_NB) < 0)
		return fail(err, -EBUSY, "another run with --ephemeral uses the changes of this project; wait for its end");
	/* The cage follows no link, and ~/.local or the home may be one */
	real = realpath(aside->dir, NULL);
	if (!real)
		return fail_errno(err, "'%s'", aside->dir);
	free(aside->dir);
	aside->dir = real;
	return 1;
}

/* The roots, one after the other with a NUL behind each */
static int read_roots(struct aside *aside, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(aside->lock, "roots", ROOTS_MAX, &text, err);

	if (r < 0)
		return r;
	for (const char *p = text.p; p && p < text.p + text.len;
	     p += strlen(p) + 1)
		*vec_push(&aside->roots) = mem_strdup(p);
	return 0;
}

static int write_roots(const struct aside *aside, struct err *err)
{
	auto_buf struct buf text = { 0 };
	int r;

	for (size_t i = 0; i < aside->roots.len; i++)
		buf_add(&text, aside->roots.v[i],
			strlen(aside->roots.v[i]) + 1);
	r = fs_replace(aside->lock, "roots", text.p, text.len, 0600, err);
	return r < 0 ? fail_in(err, r, "--ephemeral keeps changes in '%s'",
			       aside->dir) : 0;
}

/* Go on only with the same roots: their numbers are all that ties them */
static int match_roots(struct aside *aside, const struct plan *plan,
		       bool *fresh, struct err *err)
{
	const bool old = faccessat(aside->lock, "roots", F_OK, 0) == 0;
	bool same = true;
	size_t n = 0;
	int r = old ? read_roots(aside, err) : 0;

	*fresh = !old;
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind != MOUNT_ASIDE)
			continue;
		if (!old)
			*vec_push(&aside->roots) = mem_strdup(m->path);
		else
			same = same && n < aside->roots.len &&
			       !strcmp(aside->roots.v[n], m->path);
		n++;
	}
	if (r == 0 && (!same || n != aside->roots.len))
		r = fail(err, -EEXIST, "changes with other writable directories are kept aside; 'cloche apply' or 'cloche discard' them first");
	return r;
}

int aside_start(const struct plan *plan, struct aside *ret, struct err *err)
{
	struct aside a = ASIDE_NONE;
	bool fresh = false;
	int r;

	a.dir = aside_place(plan->view->policy);
	if (!a.dir)
		return fail(err, -ENOENT, "--ephemeral needs a home to keep changes in");
	r = lock_store(&a, true, err);
	if (r < 0 && r != -EBUSY)
		fail_in(err, r, "--ephemeral keeps changes in $XDG_STATE_HOME or ~/.local/state");
	if (r > 0)
		r = match_roots(&a, plan, &fresh, err);
	for (size_t i = 0; r == 0 && i < a.roots.len; i++) {
		static const char *const names[] = { "", "/u", "/w" };
		char name[32];

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			snprintf(name, sizeof(name), "%zu%s", i, names[j]);
			if (mkdirat(a.lock, name, 0700) < 0 && errno != EEXIST)
				r = fail_errno(err, "'%s/%s'", a.dir, name);
		}
	}
	if (r == 0 && fresh)
		r = write_roots(&a, err);
	if (r < 0) {
		aside_done(&a);
		return r;
	}
	*ret = a;
	return 0;
}

static void forget_changes(struct aside *aside)
{
	for (size_t i = 0; i < aside->changes.len; i++) {
		free(aside->changes.v[i].path);
		free(aside->changes.v[i].whole);
	}
	free(aside->changes.v);
	aside->changes.v = NULL;
	aside->changes.len = aside->changes.cap = 0;
}

size_t aside_finish(struct aside *aside)
{
	size_t n;

	if (aside->lock < 0)
		return 0;
	forget_changes(aside);
	if (aside_walk(aside, NULL) < 0)
		return 1;	/* Whatever it is, it is not lost */
	n = aside->changes.len;
	if (!n)
		(void)aside_drop(aside, NULL, NULL);
	return n;
}

int aside_find(const struct policy *policy, struct aside *ret,
	       struct err *err)
{
	struct aside a = ASIDE_NONE;
	int r;

	a.dir = aside_place(policy);
	r = a.dir ? lock_store(&a, false, err) : 0;
	if (r <= 0)
		aside_done(&a);
	else
		*ret = a;
	return r;
}

int aside_open(const struct policy *policy, struct aside *ret,
	       struct err *err)
{
	struct aside a = ASIDE_NONE;
	int r = aside_find(policy, &a, err);

	if (r <= 0)
		return r;
	r = read_roots(&a, err);
	if (r == 0)
		r = aside_walk(&a, err);
	if (r < 0) {
		aside_done(&a);
		return r;
	}
	*ret = a;
	return 1;
}

void aside_done(struct aside *aside)
{
	forget_changes(aside);
	aside_close(aside);
	for (size_t i = 0; i < aside->roots.len; i++)
		free(aside->roots.v[i]);
	free(aside->roots.v);
	free(aside->dir);
	fs_unlock(&aside->lock);
	*aside = ASIDE_NONE;
}
