/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ephemeral/ephemeral-apply.c - apply staged changes to the host
 *
 * Theory of operation: what is in a store was written by a command that is not
 * trusted. It is read without following a link, and written to the host beneath
 * the root that it belongs to, through no link either. Devices, sockets and
 * pipes are not applied, nor are setuid and setgid bits.
 *
 * The run may have had no observer (--observe off), and nothing
 * was there to be swept when it ended. So both are done now, as for a run that
 * writes to the host itself: each path is asked about as the observer would,
 * and in the end what was planted, and what git would run in a repository that
 * is new, goes to quarantine.
 */


#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "ephemeral/ephemeral.h"
#include "guard/git-sanitize.h"
#include "guard/planted.h"
#include "guard/tree-copy.h"
#include "observe/observer-policy.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "report/report.h"
#include "report/violation-store.h"
#include "view/view.h"

enum { NAMES_MAX = 1 << 14 };	/* Files whose other names are linked */

/**
 * struct name - A file of the store that has several names
 * @dev, @ino:	In the store
 * @root, @path: What it was applied as
 * @host_dev, @host_ino: What was there then
 */
struct name {
	dev_t dev;
	ino_t ino;
	const char *root;
	char *path;
	dev_t host_dev;
	ino_t host_ino;
};

struct names {
	struct name *v;
	size_t len, cap;
};

#define BESIDE ".cloche-apply"	/* A file, until all of it is there */

enum { VALUE_MAX = 1 << 16, LIST_MAX = 1 << 16 };	/* The kernel's limits */

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->v[i].path);
	free(names->v);
	*names = (struct names){ 0 };
}

/* The directory above @path on the host, reached beneath its root */
static int open_host_parent(const char *root, const char *path, struct err *err)
{
	auto_free char *parent = path_parent(path);
	const char *below = parent + strlen(root);
	auto_close int fd = sys_open_nofollow(AT_FDCWD, root,
					      O_RDONLY | O_DIRECTORY, 0);
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int at;

	if (fd < 0)
		return fail_errno(err, "'%s'", root);
	while (*below == '/')
		below++;
	at = *below ? sys_openat2(fd, below, &how) : take_fd(&fd);
	return at < 0 ? fail_errno(err, "'%s'", parent) : at;
}

/* A file of the store, which may have been closed to its own user */
static int open_any(int from, const char *name, mode_t mode)
{
	auto_close int held = openat(from, name, O_PATH | O_NOFOLLOW |
				     O_CLOEXEC);
	int fd;

	if (held < 0)
		return -1;
	if (!(mode & S_IRUSR))
		(void)fs_chmod(held, mode | S_IRUSR);
	fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
		    O_NONBLOCK);
	if (!(mode & S_IRUSR))
		(void)fs_chmod(held, mode);
	return fd;
}

static bool is_carried(const char *attribute)
{
	static const char overlay[] = "user.overlay.";

	return (!strncmp(attribute, "user.", 5) &&
		strncmp(attribute, overlay, strlen(overlay)) != 0) ||
	       !strcmp(attribute, "system.posix_acl_access");
}

/* 0, or the first failure; where there are no attributes, none are missing */
static int copy_attributes(int in, int out)
{
	auto_free char *list = mem_alloc(LIST_MAX);
	auto_free char *value = mem_alloc(VALUE_MAX);
	const ssize_t n = flistxattr(in, list, LIST_MAX);

	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *p = list; p < list + n; p += strlen(p) + 1) {
		ssize_t size;

		if (!is_carried(p))
			continue;
		size = fgetxattr(in, p, value, VALUE_MAX);
		if (size < 0 || fsetxattr(out, p, value, (size_t)size, 0) < 0)
			return -errno;
	}
	return 0;
}

/* A directory's attributes, as far as they can be had */
static void put_attributes(int from, int to, const char *name)
{
	auto_close int in = openat(from, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	auto_close int out = openat(to, name, O_RDONLY | O_DIRECTORY |
				    O_NOFOLLOW | O_CLOEXEC);

	if (in >= 0 && out >= 0)
		(void)copy_attributes(in, out);
}

/* An access list last: with it, the group's bits say something else */
static int fill(int in, int out, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	uint64_t all = UINT64_MAX;
	int r = tree_copy_data(in, out, &all);

	if (r == 0 && fchmod(out, st->st_mode & 0777) < 0)
		r = -errno;
	if (r == 0)
		r = copy_attributes(in, out);
	if (r == 0 && futimens(out, times) < 0)
		r = -errno;
	return r;
}

/* What is beside it, into its place */
static int move_in(int to, const char *name)
{
	int r = 0;

	if (renameat(to, BESIDE, to, name) < 0 &&
	    (errno != EISDIR || ephemeral_remove(to, name) < 0 ||
	     renameat(to, BESIDE, to, name) < 0))
		r = -errno;
	/* Also when both are one file: then nothing was moved */
	(void)unlinkat(to, BESIDE, 0);
	return r;
}

static int copy_file(int from, const char *name, const struct stat *st,
		     int to)
{
	auto_close int in = open_any(from, name, st->st_mode);
	auto_close int out = -1;
	int r;

	if (in < 0)
		return -errno;
	(void)unlinkat(to, BESIDE, 0);
	out = openat(to, BESIDE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
		     O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = fill(in, out, st);
	if (r < 0)
		(void)unlinkat(to, BESIDE, 0);
	return r < 0 ? r : move_in(to, name);
}

static const struct name *find_name(const struct names *names,
				    const struct stat *st)
{
	for (size_t i = 0; i < names->len; i++) {
		if (names->v[i].ino == st->st_ino &&
		    names->v[i].dev == st->st_dev)
			return &names->v[i];
	}
	return NULL;
}

/* True if it is another name now of what was put before, and is still there */
static bool link_to(const struct name *first, int to, const char *name)
{
	auto_close int at = open_host_parent(first->root, first->path, NULL);
	struct stat st;

	(void)unlinkat(to, BESIDE, 0);
	if (at < 0 || linkat(at, path_base(first->path), to, BESIDE, 0) < 0)
		return false;
	if (fstatat(to, BESIDE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_dev != first->host_dev || st.st_ino != first->host_ino) {
		(void)unlinkat(to, BESIDE, 0);
		return false;
	}
	return move_in(to, name) == 0;
}

static void remember_name(struct names *names, const char *root,
			  const char *path, const struct stat *st, int to)
{
	struct stat host;

	if (names->len < NAMES_MAX &&
	    fstatat(to, path_base(path), &host, AT_SYMLINK_NOFOLLOW) == 0)
		*vec_push(names) = (struct name){
			st->st_dev, st->st_ino, root, mem_strdup(path),
			host.st_dev, host.st_ino,
		};
}

/* Put the file @path, which the store has in @from with @st, to its place in @to:
 * all of it or nothing. Another name of a file that was put before is linked.
 * @root outlives @names. 0 or a negative errno.
 */
static int put_file(struct names *names, const char *root,
		   const char *path, int from, const struct stat *st, int to)
{
	const char *name = path_base(path);
	const struct name *first = st->st_nlink > 1 ?
			    find_name(names, st) : NULL;
	int r;

	if (first && link_to(first, to, name))
		return 0;
	r = copy_file(from, name, st, to);
	if (r == 0 && st->st_nlink > 1 && !first)
		remember_name(names, root, path, st, to);
	return r;
}

/* What a directory gets when all of it is there */
struct made_dir {
	char *path;
	mode_t mode;
	struct timespec times[2];
};

/**
 * struct ephemeral_apply - One call of apply
 * @plan:	Only what the answers need of it
 * @since:	What is made later is of this call
 * @repos:	Git directories that it made
 * @dirs:	Directories that it made or changed
 * @names:	Files of which there may be more names
 */
struct ephemeral_apply {
	const struct view *view;
	struct plan plan;
	struct timespec since;
	struct observer_rules *observe;
	char *state, run[REPORT_RUN_SIZE];
	struct violation_sink sink;
	struct planted *planted;
	struct strings repos;
	struct { struct made_dir *v; size_t len, cap; } dirs;
	struct names names;
};

int ephemeral_apply_start(const struct view *view, const struct violation_sink *sink,
		   struct ephemeral_apply **ret, struct err *err)
{
	struct ephemeral_apply *a = mem_zalloc(sizeof(*a));
	struct planted_config config = {
		.view = view, .run = a->run, .sink = &a->sink,
	};
	int r;

	a->view = view;
	a->plan = (struct plan){ .view = (struct view *)(uintptr_t)view,
				 .tier = TIER_FULL };
	a->since = config.since = btime_now();
	a->sink = *sink;
	a->observe = observer_rules_new(view, &a->plan, NULL, &a->since);
	report_run_id(a->run);
	a->state = violation_store_default_dir();
	config.state = a->state;
	if (!policy_flag(view->policy, FLAG_FS_DISABLED, false)) {
		planted_replay(a->state, view->policy->home, &a->sink);
		planted_new(&config, &a->planted);
		r = planted_arm(a->planted, err);
		if (r < 0) {
			ephemeral_apply_finish(a);
			return fail_in(err, r, "planted files cannot be looked for");
		}
	}
	*ret = a;
	return 0;
}

/* From the last, which may be in the one before. A directory's group is no right
 * that it lends.
 */
static void finish_dirs(struct ephemeral_apply *a)
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

void ephemeral_apply_finish(struct ephemeral_apply *a)
{
	const struct quarantine_config seal = { a->state, a->run, &a->sink };

	for (size_t i = 0; i < a->repos.len; i++)
		git_sanitize_disarm(&seal, a->repos.v[i]);
	strings_done(&a->repos);
	/* What was asked about is not all that comes along: at any depth */
	if (a->planted)	/* If that fails, the next run looks */
		(void)planted_finish(a->planted, true, false, false, NULL);
	finish_dirs(a);
	names_done(&a->names);
	planted_free(a->planted);
	observer_rules_free(a->observe);
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
	r = ephemeral_remove(to, name);
	if (r == 0 && symlinkat(target, to, name) < 0)
		return -errno;
	(void)utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
	return r;
}

static int put(struct ephemeral_apply *a, const char *root, const char *path,
	       int from, int to)
{
	const char *name = path_base(path);
	struct stat st, host;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return put_file(&a->names, root, path, from, &st, to);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, &st, to);
	if (!S_ISDIR(st.st_mode))
		return -ENOTSUP;
	if (fstatat(to, name, &host, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(host.st_mode) && unlinkat(to, name, 0) < 0)
		return -errno;
	if (mkdirat(to, name, 0700) == 0)
		put_attributes(from, to, name);
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

/* What the observer would have decided */
static bool may_write(void *arg, const char *path)
{
	const struct ephemeral_apply *a = arg;
	struct observer_verdict v;

	observer_rules_verdict(a->observe, OBSERVER_WRITE, path, &v);
	return v.answer == OBSERVER_ALLOWED;
}

static int check_path(const struct ephemeral_apply *a, const char *path,
		      struct err *err)
{
	struct observer_verdict v;

	observer_rules_verdict(a->observe, OBSERVER_WRITE, path, &v);
	return v.answer == OBSERVER_ALLOWED ? 0 :
	       fail(err, -EACCES, "'%s' is not applied: %s", path, v.reason);
}

/* Nothing protected goes with a directory that is removed or replaced */
static int check_below(struct ephemeral_apply *a, int to, const char *path,
		       struct err *err)
{
	const struct ephemeral_below below = { .may = may_write, .arg = a };
	const char *name = path_base(path);

	if (!is_dir_at(to, name) ||
	    ephemeral_look_below(&below, to, name, path) == 0)
		return 0;
	return fail(err, -EACCES, "'%s' is not applied: the host's directory holds something protected",
		    path);
}

/* Looked at when it is whole: a directory, a repository that comes to be by this */
static void remember_dir(struct ephemeral_apply *a,
			 const struct ephemeral_change *change, int from,
			 const char *name)
{
	struct stat st;

	if (from >= 0 && S_ISDIR(change->mode) &&
	    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*vec_push(&a->dirs) = (struct made_dir){
			mem_strdup(change->path), change->mode,
			{ st.st_atim, st.st_mtim },
		};
	if (change->kind == EPHEMERAL_ADDED && !strcasecmp(name, ".git") &&
	    is_dir_at(from, name))
		*vec_push(&a->repos) = mem_strdup(change->path);
}

/* A link brings along what it leads to */
static int check_link(const struct ephemeral_apply *a, int from, const char *name,
		      const char *path, struct err *err)
{
	struct observer_verdict v = { 0 };
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		observer_rules_check_move(a->observe, NULL, path, &v);
	return v.answer == OBSERVER_ALLOWED ? 0 :
	       fail(err, -EACCES, "'%s' is not applied: %s", path, v.reason);
}

static int carry_out(struct ephemeral_apply *a, const struct ephemeral *store,
		     const struct ephemeral_change *change, struct err *err)
{
	const char *root = store->roots.v[change->root];
	auto_close int to = open_host_parent(root, change->path, err);
	auto_close int from = -1;
	const char *name = path_base(change->path);
	int r = 0;

	if (to < 0)
		return to;
	if (change->kind != EPHEMERAL_DELETED) {
		from = ephemeral_open_staged(store, change, &name, err);
		if (from < 0)
			return from;
		r = check_link(a, from, name, change->path, err);
	}
	if (r == 0 && (from < 0 || !is_dir_at(from, name)))
		r = check_below(a, to, change->path, err);
	if (r < 0)
		return r;
	r = from < 0 ? ephemeral_remove(to, name) :
		       put(a, root, change->path, from, to);
	if (r < 0)
		return fail(err, r, "'%s' cannot be applied: %s", change->path,
			    r == -ENOTSUP ? "not a file, directory or link" :
			    strerror(-r));
	remember_dir(a, change, from, name);
	return 0;
}

int ephemeral_apply_one(struct ephemeral_apply *a, const struct ephemeral *store,
		 const struct ephemeral_change *change, bool force,
		 struct err *err)
{
	const int r = check_path(a, change->path, err);

	if (r < 0)
		return r;
	if (change->stale && !force)
		return fail(err, -ESTALE, "'%s' has changed since; --force overwrites it",
			    change->path);
	return carry_out(a, store, change, err);
}
