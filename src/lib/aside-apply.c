/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/aside-apply.c - changes that were kept aside, carried out on the host
 *
 * Theory of operation: what is in a store was written by a command that is not
 * trusted. It is read without following a link, and written to the host beneath
 * the root that it belongs to, through no link either. Devices, sockets and
 * pipes are not applied, nor is a bit that lends somebody's rights.
 *
 * In the run nobody may have been asked about names (--observe off), and nothing
 * was there to be swept when it ended. So both are done now, as for a run that
 * writes to the host itself: each path is asked about as the observer would,
 * and in the end what was planted, and what git would run in a repository that
 * is new, goes to quarantine.
 */

#include "lib/aside-apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "lib/aside-file.h"
#include "lib/aside-tree.h"
#include "lib/aside.h"
#include "lib/observe.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "watch/birth.h"
#include "watch/born.h"
#include "watch/gitrepo.h"
#include "watch/observer.h"
#include "watch/report.h"
#include "watch/store.h"

/**
 * struct made_dir - What a directory gets when all of it is there
 */
struct made_dir {
	char *path;
	mode_t mode;
	struct timespec times[2];
};

/**
 * struct applying - One call of apply
 * @plan:	Only what the answers need of it
 * @since:	What is born later is of this call
 * @repos:	Git directories that it made
 * @dirs:	Directories that it made or changed
 * @names:	Files of which there may be more names
 */
struct applying {
	const struct view *view;
	struct plan plan;
	struct timespec since;
	struct observe *observe;
	struct observer_policy policy;
	char *state, run[REPORT_RUN_SIZE];
	struct violation_sink sink;
	struct born *born;
	struct { char **v; size_t len, cap; } repos;
	struct { struct made_dir *v; size_t len, cap; } dirs;
	struct aside_names names;
};

int applying_start(const struct view *view, const struct violation_sink *sink,
		   struct applying **ret, struct err *err)
{
	struct applying *a = mem_zalloc(sizeof(*a));
	struct born_config config = {
		.view = view, .run = a->run, .sink = &a->sink,
	};
	int r;

	a->view = view;
	a->plan = (struct plan){ .view = (struct view *)(uintptr_t)view,
				 .tier = TIER_FULL };
	a->since = config.since = birth_now();
	a->sink = *sink;
	a->observe = observe_new(view, &a->plan, &a->since);
	observe_policy(a->observe, NULL, &a->policy);
	report_run_id(a->run);
	a->state = store_default_dir();
	config.state = a->state;
	if (!policy_flag(view->policy, FLAG_FS_DISABLED, false)) {
		born_replay(a->state, view->policy->home, &a->sink);
		born_new(&config, &a->born);
		r = born_arm(a->born, err);
		if (r < 0) {
			applying_finish(a);
			return fail_in(err, r, "planted files cannot be looked for");
		}
	}
	*ret = a;
	return 0;
}

/* From the last, which may be in the one before. A directory's group is no right
 * that it lends.
 */
static void finish_dirs(struct applying *a)
{
	for (size_t i = a->dirs.len; i-- > 0;) {
		const struct made_dir *d = &a->dirs.v[i];
		auto_close int fd = sys_open_nofollow(AT_FDCWD, d->path,
						      O_PATH | O_DIRECTORY, 0);

		if (fd >= 0) {
			(void)fs_chmod(fd, d->mode & 03777);
			(void)utimensat(fd, "", d->times, AT_EMPTY_PATH);
		}
		free(d->path);
	}
	free(a->dirs.v);
}

void applying_finish(struct applying *a)
{
	const struct gitrepo_config seal = { a->state, a->run, &a->sink };

	for (size_t i = 0; i < a->repos.len; i++) {
		gitrepo_disarm(&seal, a->repos.v[i]);
		free(a->repos.v[i]);
	}
	free(a->repos.v);
	/* What was asked about is not all that comes along: at any depth */
	if (a->born)	/* If that fails, the next run looks */
		(void)born_finish(a->born, true, false, false, NULL);
	finish_dirs(a);
	aside_names_done(&a->names);
	born_free(a->born);
	observe_free(a->observe);
	free(a->state);
	free(a);
}

static int copy_link(int from, const char *name, const struct stat *st, int to)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char target[PATH_MAX];
	const ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
	int r;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	r = aside_remove(to, name);
	if (r == 0 && symlinkat(target, to, name) < 0)
		return -errno;
	(void)utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
	return r;
}

static int put(struct applying *a, const char *root, const char *path,
	       int from, int to)
{
	const char *name = path_base(path);
	struct stat st, host;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return aside_put_file(&a->names, root, path, from, &st, to);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, &st, to);
	if (!S_ISDIR(st.st_mode))
		return -ENOTSUP;
	if (fstatat(to, name, &host, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(host.st_mode) && unlinkat(to, name, 0) < 0)
		return -errno;
	if (mkdirat(to, name, 0700) == 0)
		aside_put_attributes(from, to, name);
	else if (errno != EEXIST)
		return -errno;
	return 0;
}

static bool is_dir_at(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* What the observer would have said */
static bool may_write(void *arg, const char *path)
{
	const struct applying *a = arg;
	struct observer_verdict v;

	a->policy.verdict(a->policy.arg, OBSERVER_WRITE, path, &v);
	return v.answer == OBSERVER_ALLOWED;
}

static int check_path(const struct applying *a, const char *path,
		      struct err *err)
{
	struct observer_verdict v;

	a->policy.verdict(a->policy.arg, OBSERVER_WRITE, path, &v);
	return v.answer == OBSERVER_ALLOWED ? 0 :
	       fail(err, -EACCES, "'%s' is not applied: %s", path, v.reason);
}

/* Nothing protected goes with a directory that is removed or replaced */
static int check_below(struct applying *a, int to, const char *path,
		       struct err *err)
{
	const struct aside_below below = { .may = may_write, .arg = a };
	const char *name = path_base(path);

	if (!is_dir_at(to, name) ||
	    aside_look_below(&below, to, name, path) == 0)
		return 0;
	return fail(err, -EACCES, "'%s' is not applied: the host's directory holds something protected",
		    path);
}

/* Looked at when it is whole: a directory, a repository that comes to be by this */
static void remember(struct applying *a, const struct aside_change *change,
		     int from, const char *name)
{
	struct stat st;

	if (from >= 0 && S_ISDIR(change->mode) &&
	    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*vec_push(&a->dirs) = (struct made_dir){
			mem_strdup(change->path), change->mode,
			{ st.st_atim, st.st_mtim },
		};
	if (change->kind == ASIDE_ADDED && !strcasecmp(name, ".git") &&
	    is_dir_at(from, name))
		*vec_push(&a->repos) = mem_strdup(change->path);
}

/* A link brings along what it leads to */
static int check_link(const struct applying *a, int from, const char *name,
		      const char *path, struct err *err)
{
	struct observer_verdict v = { 0 };
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		a->policy.place(a->policy.arg, NULL, path, &v);
	return v.answer == OBSERVER_ALLOWED ? 0 :
	       fail(err, -EACCES, "'%s' is not applied: %s", path, v.reason);
}

static int carry_out(struct applying *a, const struct aside *aside,
		     const struct aside_change *change, struct err *err)
{
	const char *root = aside->roots.v[change->root];
	auto_close int to = aside_open_parent(root, change->path, err);
	auto_close int from = -1;
	const char *name = path_base(change->path);
	int r = 0;

	if (to < 0)
		return to;
	if (change->kind != ASIDE_DELETED) {
		from = aside_open_upper(aside, change, &name, err);
		if (from < 0)
			return from;
		r = check_link(a, from, name, change->path, err);
	}
	if (r == 0 && (from < 0 || !is_dir_at(from, name)))
		r = check_below(a, to, change->path, err);
	if (r < 0)
		return r;
	r = from < 0 ? aside_remove(to, name) :
		       put(a, root, change->path, from, to);
	if (r < 0)
		return fail(err, r, "'%s' cannot be applied: %s", change->path,
			    r == -ENOTSUP ? "not a file, directory or link" :
			    strerror(-r));
	remember(a, change, from, name);
	return 0;
}

int applying_one(struct applying *a, const struct aside *aside,
		 const struct aside_change *change, bool force,
		 struct err *err)
{
	const int r = check_path(a, change->path, err);

	if (r < 0)
		return r;
	if (change->stale && !force)
		return fail(err, -ESTALE, "'%s' has changed since; --force overwrites it",
			    change->path);
	return carry_out(a, aside, change, err);
}
