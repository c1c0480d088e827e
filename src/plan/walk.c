/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/walk.c - what already exists: protected names and matches of patterns
 *
 * Theory of operation: a depth-first walk with openat() and readdir(), bounded
 * in depth and in names, that never follows a link. It goes on in file systems
 * that are mounted below, for a command can reach them; not in the kernel's own,
 * which hold nobody's files. Nearly all names are dismissed by their first byte:
 * every protected name starts with a dot. What is left, and the directories, is
 * what a cache remembers (walk-cache.h).
 */

#include "plan/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/mounts.h"
#include "plan/fstype.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "plan/walk-cache.h"
#include "plan/walk-config.h"
#include "plan/walk-git.h"
#include "plan/walk-glob.h"
#include "policy/protect.h"

/**
 * struct walk - One walk
 * @depth_max:	How deep it goes
 * @dev:	The file system that it is in
 * @left:	Names it may still look at
 * @rooms:	A buffer per level, made when first used
 * @globs:	The patterns it looks for, or NULL for protected names
 * @cache:	Of directories of this file system, or NULL
 * @leaves:	Directories of this file system that have not changed may be skipped
 * @closed:	A directory that nobody can look into or do without, or NULL
 */
struct walk {
	struct view *view;
	unsigned int depth_max;
	dev_t dev;
	size_t *left;
	struct glob_set *globs;
	struct walk_cache *cache;
	bool leaves;
	char **rooms;
	char *closed;
};

/* Room to read a directory at @depth; one deeper than all is for @depth_max */
static struct dir reader(struct walk *w, int fd, unsigned int depth)
{
	if (!w->rooms[depth])
		w->rooms[depth] = mem_alloc(DIR_ROOM);
	return (struct dir){
		.fd = fd, .room = w->rooms[depth], .size = DIR_ROOM,
	};
}

/* A directory on the way to @below may be a symbolic link, as dotfile managers
 * make them. The link stays, its target is read-only as a whole, and so is what
 * @below is there, existing or not. True if there is such a link.
 */
static bool protect_linked(struct walk *w, int dir, const char *dir_path,
			   const char *below, const struct protect_row *row)
{
	const char *p = below;

	while ((p = strchr(p, '/')) != NULL) {
		auto_free char *part = mem_strndup(below, (size_t)(p++ - below));
		auto_free char *link = NULL, *path = NULL;
		struct stat st;

		if (!walk_sees(w->view, dir, part, &st))
			return false;
		if (!S_ISLNK(st.st_mode))
			continue;
		link = path_join(dir_path, part);
		walk_protect(w->view, link, &st, row->name, row->reason);
		path = path_join(dir_path, below);
		view_add_target(w->view, PATH_DENY_WRITE, path,
				view_own_rule(w->view, path, row->name,
					      row->reason));
		return true;
	}
	return false;
}

/* @name, as it is spelled here, begins @row's; the rest may be missing. True if
 * it is there.
 */
static bool protect_below(struct walk *w, int dir, const char *dir_path,
			  const char *name, const struct protect_row *row)
{
	auto_free char *below = mem_printf("%s%s", name,
					   row->name + strlen(name));
	auto_free char *path = NULL;
	struct stat st;

	if (protect_linked(w, dir, dir_path, below, row) ||
	    !walk_sees(w->view, dir, below, &st))
		return false;
	path = path_join(dir_path, below);
	walk_protect(w->view, path, &st, row->name, row->reason);
	return true;
}

/* True if it is protected with all that is in it: nothing there can change */
static bool check_dot_name(struct walk *w, int dir, const char *dir_path,
			   const char *name)
{
	const size_t len = strlen(name);
	const struct protect_row *rows;
	bool whole = false;
	size_t n;

	if (!strcasecmp(name, ".git")) {
		auto_free char *git = path_join(dir_path, name);
		struct stat st = { 0 };

		walk_config_top(w->view, dir_path);
		if (walk_sees(w->view, dir, name, &st) &&
		    S_ISDIR(st.st_mode))
			walk_git(w->view, git, w->left);
		else
			walk_protect(w->view, git, &st, ".git",
				     "points git at a repository");
		if (S_ISREG(st.st_mode) &&
		    protect_has_modules(w->view->policy))
			walk_git_pointer(w->view, git, w->left);
		return false;
	}
	rows = protect_table(&n);
	for (size_t i = 0; i < n; i++) {
		const struct protect_row *row = &rows[i];

		if ((row->kind != PROTECT_FILE && row->kind != PROTECT_DIR) ||
		    strncasecmp(row->name, name, len) != 0 ||
		    (row->name[len] && row->name[len] != '/') ||
		    !protect_applies(w->view->policy, row))
			continue;
		if (protect_below(w, dir, dir_path, name, row))
			whole |= !row->name[len];
	}
	return whole;
}

/* Is it, for the directory @name in the one at @depth? */
static bool is_worth_entering(const struct walk *w, const char *path,
			      const char *name, unsigned int depth)
{
	if (w->globs)
		return glob_set_enter(w->globs, path, name, depth);
	return strcmp(name, "node_modules") != 0 && strcasecmp(name, ".git") != 0;
}

static void walk_dir(struct walk *w, int at, const char *name,
		     const char *path, unsigned int depth);

static void walk_entry(struct walk *w, int at, const struct dir_entry *entry,
		       const char *dir_path, unsigned int depth)
{
	const char *name = entry->name;

	if (w->globs) {
		glob_set_check(w->globs, dir_path, name, depth);
		if (entry->type == DT_LNK || entry->type == DT_UNKNOWN)
			glob_set_link(w->globs, dir_path, name, depth);
	} else if (name[0] == '.' && check_dot_name(w, at, dir_path, name)) {
		return;
	} else if (depth && walk_git_is_part(name) &&
		   protect_has_modules(w->view->policy)) {
		(void)walk_git_root(w->view, dir_path, w->left);
	}

	if ((entry->type == DT_DIR || entry->type == DT_UNKNOWN) &&
	    depth + 1 < w->depth_max) {
		auto_free char *path = path_join(dir_path, name);

		if (is_worth_entering(w, path, name, depth))
			walk_dir(w, at, name, path, depth + 1);
	}
}

/* Read a directory that is open, and have it remembered */
static void walk_open(struct walk *w, int fd, const struct stat *st,
		      const char *path, unsigned int depth)
{
	const size_t before = *w->left;
	auto_buf struct buf names = { 0 };
	struct dir_entry entry;
	struct dir dir = reader(w, fd, depth);
	size_t read = 0;
	int r = 0;

	while (*w->left && (r = dir_next(&dir, &entry)) > 0) {
		--*w->left;
		read++;
		if (w->cache && (entry.name[0] == '.' || entry.type == DT_DIR ||
			      entry.type == DT_UNKNOWN ||
			      walk_git_is_part(entry.name)))
			walk_names_add(&names, &entry);
		walk_entry(w, fd, &entry, path, depth);
	}
	if (r < 0)
		walk_missed(w->view, -r);
	if (w->cache && before && r == 0)
		walk_cache_add(w->cache, st, read, &names);
}

/* True if the cache knew the directory: only what it names is looked at */
static bool walk_known(struct walk *w, int at, const char *name,
		       const struct stat *st, const char *path,
		       unsigned int depth)
{
	struct walk_names names;
	struct dir_entry entry;
	auto_close int fd = -1;

	if (!walk_cache_find(w->cache, st, &names))
		return false;
	if (names.p == names.end)
		return true;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		walk_missed(w->view, errno);
	while (fd >= 0 && *w->left && walk_names_next(&names, &entry)) {
		--*w->left;
		walk_entry(w, fd, &entry, path, depth);
	}
	return true;
}

/* True if it is closed to us (walk_close()) */
static bool close_dir(struct walk *w, const char *path, unsigned int depth)
{
	auto_free char *closed = resolve_closed(path);
	struct view *view = w->view;

	if (!closed)
		return false;
	if (w->globs && !glob_set_denies(w->globs, depth))
		return true;
	if (path_is_within(closed, view->policy->cwd) ||
	    (!w->globs && !depth)) {
		free(w->closed);
		w->closed = take_ptr(closed);
	} else if (w->globs) {
		glob_set_close(w->globs, closed, depth);
	} else {
		walk_close(view, closed);
	}
	return true;
}

/* What @fd is on; false if there is nothing to look for. The first one is as
 * good as the caller wants it.
 */
static bool enter_file_system(struct walk *w, int fd, const struct stat *st)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0 || (w->dev && fstype_has_no_files(&fs)))
		return false;
	w->dev = st->st_dev;
	w->cache = w->globs || !fstype_keeps_times(&fs) ? NULL : w->view->cache;
	w->leaves = w->view->deep && fstype_counts_dirs(&fs);
	return true;
}

/* True of a directory without directories in it that has not changed since:
 * what is in it was there before
 */
static bool is_old_leaf(const struct walk *w, int at, const char *name)
{
	struct stat st;

	return walk_sees(w->view, at, name, &st) &&
	       S_ISDIR(st.st_mode) && st.st_dev == w->dev &&
	       st.st_nlink == 2 && st.st_ctim.tv_sec < w->view->since;
}

static void walk_dir(struct walk *w, int at, const char *name,
		     const char *path, unsigned int depth)
{
	const bool leaves = w->leaves;
	const dev_t dev = w->dev;
	struct walk_cache *const cache = w->cache;
	auto_close int fd = -1;
	struct stat st;

	if (leaves && is_old_leaf(w, at, name))
		return;
	if (cache && !walk_cache_is_empty(cache) &&
	    walk_sees(w->view, at, name, &st) && S_ISDIR(st.st_mode) && st.st_dev == dev &&
	    walk_known(w, at, name, &st, path, depth))
		return;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		walk_missed(w->view, errno);
	if (fd < 0 && errno == EACCES)
		(void)close_dir(w, path, depth);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (st.st_dev != dev && !enter_file_system(w, fd, &st)))
		return;
	if (((st.st_mode & S_IXUSR) || !close_dir(w, path, depth)) &&
	    !(st.st_dev != dev && w->cache &&
	      walk_known(w, at, name, &st, path, depth)))
		walk_open(w, fd, &st, path, depth);
	w->dev = dev;
	w->cache = cache;
	w->leaves = leaves;
}

/* A start directory that is a bare repository, or half of one */
static void check_sentinels(struct walk *w, const char *cwd)
{
	auto_free char *head = path_join(cwd, "HEAD");
	auto_free char *config = path_join(cwd, "config");
	struct stat st;

	if (w->view->policy->profile == PROFILE_SRT ||
	    walk_git_root(w->view, cwd, w->left))
		return;
	/* A file of that name, and the rest planted, would be one */
	if (lstat(head, &st) == 0 && S_ISREG(st.st_mode))
		walk_protect(w->view, head, &st, "HEAD",
			"would make the directory a bare repository");
	if (lstat(config, &st) == 0 && S_ISREG(st.st_mode))
		walk_protect(w->view, config, &st, "config",
			"would be a bare repository's settings");
}

/* What is behind links; there may be any amount of it */
static void walk_links(struct walk *w)
{
	size_t left = WALK_LINKED_MAX, *const before = w->left;
	const struct glob_link *link;
	const char *path = NULL;

	w->left = &left;
	while (left && (link = glob_set_next(w->globs)) != NULL) {
		const char *real = link->real;

		path = link->path;
		w->dev = 0;
		walk_dir(w, AT_FDCWD, real, real, 0);
	}
	w->left = before;
	if (!left || w->globs->many)
		view_note(w->view, mem_printf("patterns that deny are not looked for in all that links lead to, from '%s' on: there is too much; name those directories in rules",
					      path));
}

/* Walk from @path, with @w filled in but for its buffers and cache */
static int walk_from(struct walk *w, const char *path, struct err *err)
{
	const char *cwd = w->view->policy->cwd;
	auto_free char *closed = NULL;

	w->rooms = mem_zalloc((w->depth_max + 1) * sizeof(*w->rooms));
	walk_dir(w, AT_FDCWD, path, path, 0);
	if (w->globs)
		walk_links(w);
	if (!w->globs && path_is_within(path, cwd))
		check_sentinels(w, cwd);
	if (!w->globs && strcmp(path, cwd) != 0)
		(void)walk_git_root(w->view, path, w->left);
	for (unsigned int i = 0; i <= w->depth_max; i++)
		free(w->rooms[i]);
	free(w->rooms);
	w->rooms = NULL;
	closed = take_ptr(w->closed);
	return closed ? fail(err, -EACCES, "'%s' cannot be looked into, so nothing in it can be protected; chmod u+rx '%s'",
			     closed, closed) : 0;
}

/* Each once, and none that lies in another: they come first */
static int walk_protected(struct view *view, size_t *left, struct err *err)
{
	const struct number *depth =
		&view->policy->numbers[NUMBER_SEARCH_DEPTH];
	const size_t count = view->rules.len;	/* It grows meanwhile */
	auto_free const char **roots =
		mem_zalloc((count + 1) * sizeof(*roots));
	const char *last = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE &&
		    S_ISDIR(view->rules.v[i].mode))
			roots[n++] = view->rules.v[i].path;
	}
	qsort(roots, n, sizeof(*roots), mounts_compare_items);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct walk w = {
			.view = view, .left = left,
			.depth_max = view->deep ? WALK_DEEP : depth->set ?
				     (unsigned int)depth->value : WALK_DEPTH,
		};

		if (last && path_is_within(last, roots[i]))
			continue;
		last = roots[i];
		r = walk_from(&w, last, err);
	}
	return r;
}

static int fail_glob(const struct view *view, size_t i, int code,
		     const char *why, struct err *err)
{
	const struct path_rule *rule = view->globs.v[i].rule;
	auto_buf struct buf where = { 0 };

	origin_describe(&rule->origin, &where);
	return fail(err, code, "%s: '%s' cannot be enforced: %s",
		    buf_str(&where), rule->text, why);
}

/* The patterns from number @first on that can be looked for in one walk; or it
 * alone. Returns how many.
 */
static int walk_globs(struct view *view, size_t first, bool alone,
		      struct err *err)
{
	size_t left = WALK_ENTRIES_MAX;
	struct glob_set set;
	struct walk w = {
		.view = view, .left = &left, .globs = &set,
		.depth_max = WALK_GLOB_DEPTH,
	};
	auto_free char *many = mem_printf("there are more than %d names to look at; begin it with a longer directory",
					  WALK_ENTRIES_MAX);
	int r;

	glob_set_init(&set, view, first, alone);
	r = strcmp(glob_set_prefix(&set), "/") ?
	    walk_from(&w, glob_set_prefix(&set), err) :
	    fail_glob(view, first, -EINVAL, "it starts with a pattern; begin it with a directory",
		      err);
	if (r == 0 && !left)
		r = set.n > 1 ? -EAGAIN :
		    fail_glob(view, first, -E2BIG, many, err);
	glob_set_done(&set);
	return r < 0 ? r : (int)set.n;
}

static int walk_patterns(struct view *view, struct err *err)
{
	bool alone = false;

	for (size_t i = 0; i < view->globs.len;) {
		const size_t before = view->rules.len;
		const int r = walk_globs(view, i, alone, err);

		if (r == -EAGAIN) {	/* Each by itself has less to look at */
			view_drop(view, before);
			alone = true;
		} else if (r < 0) {
			return r;
		} else {
			i += (size_t)r;
		}
	}
	return 0;
}

int walk_roots(struct view *view, struct err *err)
{
	size_t left = WALK_ENTRIES_MAX;
	int r = walk_patterns(view, err);

	if (r == 0 && !policy_flag(view->policy, FLAG_FS_DISABLED, false))
		r = walk_protected(view, &left, err);
	if (r < 0)
		return r;
	if (protect_has_modules(view->policy))
		walk_config_user(view);
	if (!left)
		view_note(view, mem_strdup(
			"the writable directories hold more names than are looked at; protected names deep inside are not read-only"));
	return 0;
}
