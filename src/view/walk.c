/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/walk.c - what already exists: protected names and matches of patterns
 *
 * Theory of operation: protected names are looked for breadth first and at any
 * depth, so that no depth hides them and one descriptor is enough; patterns
 * depth first, to the depth that they have. No link is followed. Both go on in
 * file systems that are mounted below, for a command can reach them; not in the
 * kernel's own, which hold no files of users, nor in node_modules, whose programs the
 * user runs anyway (docs/decisions/protected-names.md). Nearly all names are dismissed
 * by their first byte. What is left, and the directories, is what a cache
 * remembers (walk-cache.h).
 *
 * What is not looked at is not protected. So a directory with more names than
 * the limit is read-only, and the run is refused if all of them together have
 * more.
 */

#include "view/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/protected-names.h"
#include "view/realpath.h"
#include "view/view.h"
#include "view/walk-cache.h"
#include "view/walk-git.h"
#include "view/walk-glob.h"

/* What is known of file systems */
enum {
	KEEPS_TIMES = 1,	/* The kernel itself keeps a directory's change time; a
				 * server could say anything */
	COUNTS_DIRS = 2,	/* It also counts the directories in one as links */
	NO_FILES = 4,		/* The kernel's own, and automounts that were not used
				 * yet */
};

static unsigned int fstype_flags(const struct statfs *fs)
{
	static const struct {
		long magic;
		unsigned int flags;
	} known[] = {
		{ EXT4_SUPER_MAGIC, KEEPS_TIMES | COUNTS_DIRS },
		{ XFS_SUPER_MAGIC, KEEPS_TIMES | COUNTS_DIRS },
		{ F2FS_SUPER_MAGIC, KEEPS_TIMES | COUNTS_DIRS },
		{ TMPFS_MAGIC, KEEPS_TIMES | COUNTS_DIRS },
		{ BTRFS_SUPER_MAGIC, KEEPS_TIMES },
		{ OVERLAYFS_SUPER_MAGIC, KEEPS_TIMES },
		{ PROC_SUPER_MAGIC, NO_FILES }, { SYSFS_MAGIC, NO_FILES },
		{ CGROUP_SUPER_MAGIC, NO_FILES }, { CGROUP2_SUPER_MAGIC, NO_FILES },
		{ DEVPTS_SUPER_MAGIC, NO_FILES }, { DEBUGFS_MAGIC, NO_FILES },
		{ TRACEFS_MAGIC, NO_FILES }, { SECURITYFS_MAGIC, NO_FILES },
		{ BPF_FS_MAGIC, NO_FILES }, { AUTOFS_SUPER_MAGIC, NO_FILES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].magic == (long)fs->f_type)
			return known[i].flags;
	}
	return 0;
}

/**
 * struct waiting - A directory that is still to be looked into
 * @names:	What the cache knows of it, if @known
 */
struct waiting {
	char *path;
	unsigned int depth;
	bool known;
	struct walk_names names;
};

/**
 * struct walk - One walk
 * @depth_max:	How deep it goes
 * @dev:	The file system that it is in
 * @left:	Names it may still look at
 * @dir_max:	Names that a directory may have
 * @globs:	The patterns it looks for, or NULL for protected names
 * @cache:	Of directories of this file system, or NULL
 * @leaves:	Directories of this file system that have not changed may be skipped
 * @linked:	Other names of denied files are looked for, @from one up to this one
 * @again:	Only for them
 * @v, @next:	Protected names: what is to be looked into, and from where on
 * @buffer:	To read a directory; for them, one after the other
 * @closed:	A directory that cannot be read and may hold protected names, or NULL
 * @many:	The one where too many names were counted, or NULL
 */
struct walk {
	struct view *view;
	unsigned int depth_max;
	dev_t dev;
	size_t *left, dir_max;
	struct glob_set *globs;
	struct walk_cache *cache;
	bool leaves;
	size_t from, linked;
	bool again;
	struct waiting *v;
	size_t len, cap, next;
	char *buffer;
	char *closed, *many;
};

/* A directory on the way to @below may be a symbolic link, as dotfile managers
 * make them. The link stays, its target is read-only as a whole, and so is what
 * @below is there, existing or not. True if there is such a link.
 */
static bool protect_linked(struct walk *w, const char *dir_path,
			   const char *below, const struct protected_row *row)
{
	const char *p = below;

	while ((p = strchr(p, '/')) != NULL) {
		auto_free char *part = mem_strndup(below, (size_t)(p++ - below));
		auto_free char *link = path_join(dir_path, part), *path = NULL;
		struct stat st;

		if (!view_sees(w->view, AT_FDCWD, link, &st))
			return false;
		if (!S_ISLNK(st.st_mode))
			continue;
		view_protect(w->view, link, &st, row->name, row->reason);
		path = path_join(dir_path, below);
		view_add_target(w->view, PATH_DENY_WRITE, path,
				view_own_rule(w->view, path, row->name,
					      row->reason));
		return true;
	}
	return false;
}

/* @name, as it is spelled here, begins @row's; the @rest may be missing. True if
 * it is there.
 */
static bool protect_below(struct walk *w, const char *dir_path,
			  const char *name, const char *rest,
			  const struct protected_row *row)
{
	auto_free char *below = mem_printf("%s%s", name, rest);
	auto_free char *path = path_join(dir_path, below);
	struct stat st;

	if (protect_linked(w, dir_path, below, row) ||
	    !view_sees(w->view, AT_FDCWD, path, &st))
		return false;
	view_protect(w->view, path, &st, row->name, row->reason);
	return true;
}

/* True if it is protected with all that is in it: nothing there can change */
static bool check_name(struct walk *w, const char *dir_path, const char *name)
{
	const struct protected_row *rows;
	bool whole = false;
	size_t n;

	if (!strcasecmp(name, ".git")) {
		auto_free char *git = path_join(dir_path, name);
		struct stat st = { 0 };

		*vec_push(&w->view->tops) = mem_strdup(dir_path);
		if (view_sees(w->view, AT_FDCWD, git, &st) &&
		    S_ISDIR(st.st_mode))
			walk_git(w->view, git, w->left);
		else
			view_protect(w->view, git, &st, ".git",
				     "points git at a repository");
		if (S_ISREG(st.st_mode) &&
		    protected_has_modules(w->view->policy))
			walk_git_pointer(w->view, git, w->left);
		return false;
	}
	rows = protected_table(&n);
	for (size_t i = 0; i < n; i++) {
		const struct protected_row *row = &rows[i];
		const char *rest = protected_rest(row, name);

		if (row->kind > PROTECTED_DIR || !rest ||
		    !protected_applies(w->view->policy, row))
			continue;
		if (protect_below(w, dir_path, name, rest, row))
			whole |= !*rest;
	}
	return whole;
}

/* A name of a file that a rule denies by another one */
static void check_linked(struct walk *w, const char *dir_path,
			 const struct dir_entry *entry)
{
	auto_free char *path = NULL;
	struct stat st;

	for (size_t i = w->from; i < w->linked; i++) {
		const struct view_linked *l = &w->view->linked.v[i];

		/* The cache does not know the inode of what it names */
		if (entry->ino ? l->ino != entry->ino : entry->type == DT_DIR)
			continue;
		if (!path) {
			path = path_join(dir_path, entry->name);
			if (!view_sees(w->view, AT_FDCWD, path, &st))
				return;
		}
		if (st.st_dev == l->dev && st.st_ino == l->ino)
			view_add_seen(w->view, l->list, path, l->rule, &st)->found =
				true;
	}
}

/* Is it, for the directory @name in the one at @depth? */
static bool is_worth_entering(const struct walk *w, const char *path,
			      const char *name, unsigned int depth)
{
	if (w->globs)
		return glob_set_enter(w->globs, path, name, depth);
	return strcmp(name, "node_modules") != 0 && strcasecmp(name, ".git") != 0;
}

static void walk_dir(struct walk *w, const char *path, unsigned int depth);

/* True of a directory without directories in it that has not changed since:
 * what is in it was there before
 */
static bool is_old_leaf(const struct walk *w, const struct stat *st)
{
	return w->leaves && st->st_dev == w->dev && st->st_nlink == 2 &&
	       st->st_ctim.tv_sec < w->view->since;
}

/* What the cache knows of a directory that is to be looked into; false if there is
 * nothing to look for
 */
static bool find_known(struct walk *w, struct waiting *ret)
{
	struct stat st;

	if ((!w->leaves && (!w->cache || walk_cache_is_empty(w->cache))) ||
	    !view_sees(w->view, AT_FDCWD, ret->path, &st) ||
	    !S_ISDIR(st.st_mode) || st.st_dev != w->dev)
		return true;
	if (is_old_leaf(w, &st))
		return false;
	ret->known = w->cache && (st.st_mode & S_IXUSR) &&
		     walk_cache_find(w->cache, &st, &ret->names);
	return !ret->known || ret->names.p < ret->names.end;
}

static void walk_below(struct walk *w, char *path, unsigned int depth)
{
	struct waiting next = { .path = path, .depth = depth };

	if (w->globs)
		walk_dir(w, path, depth);
	else if (find_known(w, &next))
		*vec_push(w) = next;
	if (w->globs || !w->len || w->v[w->len - 1].path != path)
		free(path);
}

static void walk_entry(struct walk *w, const struct dir_entry *entry,
		       const char *dir_path, unsigned int depth)
{
	const char *name = entry->name;
	auto_free char *path = NULL;

	if (w->globs) {
		glob_set_check(w->globs, dir_path, name, depth);
		if (entry->type == DT_LNK || entry->type == DT_UNKNOWN)
			glob_set_link(w->globs, dir_path, name, depth);
	} else if (!w->again && protected_may_match(name) &&
		   check_name(w, dir_path, name)) {
		return;
	} else if (!w->again && depth && walk_git_is_part(name) &&
		   protected_has_modules(w->view->policy)) {
		(void)walk_git_root(w->view, dir_path, w->left);
	}
	if (w->linked)
		check_linked(w, dir_path, entry);
	if ((entry->type != DT_DIR && entry->type != DT_UNKNOWN) ||
	    depth + 1 >= w->depth_max)
		return;
	path = path_join(dir_path, name);
	if (is_worth_entering(w, path, name, depth))
		walk_below(w, take_ptr(path), depth + 1);
}

/* The search in @path has no result: all of it is read-only. Without the start
 * directory, and what is above it, there is no run.
 */
static void give_up_on(struct walk *w, const char *path, unsigned int depth)
{
	static const char reason[] = "it holds more names than are looked at";

	if (!depth || path_is_within(path, w->view->policy->cwd)) {
		w->many = mem_strdup(path);
		*w->left = 0;
		return;
	}
	view_add(w->view, PATH_DENY_WRITE, path,
		 view_own_rule(w->view, path, path_base(path), reason), false);
	view_note(w->view, mem_printf("'%s' is read-only: it holds more than %zu names, so protected ones in it cannot be looked for; --search-limit %zu looks at all",
				      path, w->dir_max, 8 * w->dir_max));
}

/* Read a directory that is open, and have it remembered */
static void walk_open(struct walk *w, int fd, const struct stat *st,
		      const char *path, unsigned int depth)
{
	auto_buf struct buf names = { 0 };
	auto_free char *own = w->buffer ? NULL : mem_alloc(DIR_BUFFER);
	struct dir dir = {
		.fd = fd, .buffer = own ? own : w->buffer, .size = DIR_BUFFER,
	};
	struct dir_entry entry;
	size_t read = 0;
	int r = 0;

	while (*w->left && read <= w->dir_max &&
	       (r = dir_next(&dir, &entry)) > 0) {
		--*w->left;
		read++;
		if (w->cache && (protected_may_match(entry.name) ||
				 entry.type == DT_DIR ||
				 entry.type == DT_UNKNOWN ||
				 walk_git_is_part(entry.name) ||
				 walk_cache_has_inode(w->cache, entry.ino)))
			walk_names_add(&names, &entry);
		walk_entry(w, &entry, path, depth);
	}
	if (r < 0)
		view_missed(w->view, -r);
	if (read > w->dir_max)
		give_up_on(w, path, depth);
	else if (!*w->left && !w->many)
		w->many = mem_strdup(path);
	if (w->cache && r == 0 && *w->left)
		walk_cache_add(w->cache, st, read, &names);
}

/* Of what has not changed, only what the cache names is looked at */
static void walk_known(struct walk *w, struct waiting *known)
{
	struct dir_entry entry;

	while (*w->left && walk_names_next(&known->names, &entry)) {
		--*w->left;
		walk_entry(w, &entry, known->path, known->depth);
	}
}

/* True if it is closed to us (view_close_dir()) */
static bool close_dir(struct walk *w, const char *path, unsigned int depth)
{
	auto_free char *closed = realpath_is_closed(path);
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
		view_close_dir(view, closed);
	}
	return true;
}

/* What @fd is on; false if there is nothing to look for. The first one is as
 * good as the caller wants it.
 */
static bool enter_file_system(struct walk *w, int fd, const struct stat *st)
{
	struct statfs fs;
	unsigned int flags;

	if (fstatfs(fd, &fs) < 0)
		return false;
	flags = fstype_flags(&fs);
	if (w->dev && (flags & NO_FILES))
		return false;
	w->dev = st->st_dev;
	w->cache = w->globs || !(flags & KEEPS_TIMES) ? NULL : w->view->cache;
	w->leaves = w->view->deep && (flags & COUNTS_DIRS);
	return true;
}

static void walk_dir(struct walk *w, const char *path, unsigned int depth)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY |
					      O_DIRECTORY | O_CLOEXEC, 0);
	const dev_t dev = w->dev;
	struct stat st;

	if (fd < 0)
		view_missed(w->view, errno);
	if (fd < 0 && errno == EACCES)
		(void)close_dir(w, path, depth);
	if (fd < 0 && errno == ENAMETOOLONG) {
		auto_free char *above = path_parent(path);

		view_close_dir(w->view, above);
	}
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (st.st_dev != dev && !enter_file_system(w, fd, &st)))
		return;
	if ((st.st_mode & S_IXUSR) || !close_dir(w, path, depth))
		walk_open(w, fd, &st, path, depth);
	if (w->globs)	/* It goes on in the one above */
		w->dev = dev;
}

/* A start directory that is a bare repository, or half of one */
static void check_sentinels(struct walk *w, const char *cwd)
{
	auto_free char *head = path_join(cwd, "HEAD");
	auto_free char *config = path_join(cwd, "config");
	struct stat st;

	if (w->view->policy->profile == PROFILE_SRT ||
	    walk_git_root(w->view, cwd, w->left) ||
	    w->view->after)	/* guard/planted-scan.c decides which of them go */
		return;
	/* A file of that name, and the rest planted, would be one */
	if (lstat(head, &st) == 0 && S_ISREG(st.st_mode))
		view_protect(w->view, head, &st, "HEAD",
			"would make the directory a bare repository");
	if (lstat(config, &st) == 0 && S_ISREG(st.st_mode))
		view_protect(w->view, config, &st, "config",
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
		walk_dir(w, real, 0);
	}
	w->left = before;
	if (!left || w->globs->many)
		view_note(w->view, mem_printf("patterns that deny are not looked for in all that links lead to, from '%s' on: there is too much; name those directories in rules",
					      path));
}

/* Walk from @path, with @w filled in but for its queue and cache */
static int walk_from(struct walk *w, const char *path, struct err *err)
{
	const char *cwd = w->view->policy->cwd;
	auto_free char *closed = NULL;

	if (!w->globs)
		w->buffer = mem_alloc(DIR_BUFFER);
	walk_dir(w, path, 0);
	if (w->globs)
		walk_links(w);
	for (; w->next < w->len; w->next++) {
		struct waiting next = w->v[w->next];

		if (!*w->left && !w->many)
			w->many = mem_strdup(next.path);
		if (*w->left && next.known)
			walk_known(w, &next);
		else if (*w->left)
			walk_dir(w, next.path, next.depth);
		free(next.path);
	}
	free(w->buffer);
	free(w->v);
	w->buffer = NULL;
	w->v = NULL;
	w->len = w->cap = w->next = 0;
	if (!w->globs && path_is_within(path, cwd))
		check_sentinels(w, cwd);
	if (!w->globs && strcmp(path, cwd) != 0)
		(void)walk_git_root(w->view, path, w->left);
	closed = take_ptr(w->closed);
	return closed ? fail(err, -EACCES, "'%s' cannot be looked into, so nothing in it can be protected; chmod u+rx '%s'",
			     closed, closed) : 0;
}

static size_t limit_of(const struct view *view)
{
	const struct number *limit =
		&view->policy->numbers[NUMBER_SEARCH_LIMIT];

	return view->after ? SIZE_MAX : limit->set ? (size_t)limit->value
						   : WALK_NAMES_MAX;
}

static unsigned int depth_of(const struct policy *policy)
{
	const struct number *depth = &policy->numbers[NUMBER_SEARCH_DEPTH];

	return policy->profile != PROFILE_SRT ? UINT_MAX :
	       depth->set ? (unsigned int)depth->value : WALK_SRT_DEPTH;
}

/* Walk from each of @roots, but from none that lies in another: they come first */
static int walk_each(struct walk *w, const char **roots, size_t n,
		     struct err *err)
{
	const char *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (last && path_is_within(last, roots[i]))
			continue;
		last = roots[i];
		w->dev = 0;
		r = walk_from(w, last, err);
	}
	return r;
}

/* Have the cache know the names of linked files, from number @from on */
static void look_for_linked(const struct walk *w, size_t from)
{
	const struct view *view = w->view;
	const size_t n = view->linked.len - from;
	auto_free struct walk_inode *inodes = mem_zalloc((n + 1) * sizeof(*inodes));

	for (size_t i = 0; i < n; i++)
		inodes[i] = (struct walk_inode){ view->linked.v[from + i].dev,
						 view->linked.v[from + i].ino };
	if (view->cache)
		walk_cache_look_for(view->cache, inodes, n, w->again);
}

static int walk_protected(struct view *view, struct err *err)
{
	const size_t count = view->rules.len;	/* It grows meanwhile */
	const size_t limit = limit_of(view);
	auto_free const char **roots =
		mem_zalloc((count + 1) * sizeof(*roots));
	size_t n = 0, left = limit;
	struct walk w = {
		.view = view, .left = &left, .dir_max = limit / WALK_DIR_PART,
		.depth_max = depth_of(view->policy),
		.linked = view->linked.len,
	};
	auto_free char *many = NULL;
	int r;

	for (size_t i = 0; i < count; i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE &&
		    S_ISDIR(view->rules.v[i].mode) &&
		    !view->rules.v[i].rule->shared)
			roots[n++] = view->rules.v[i].path;
	}
	qsort(roots, n, sizeof(*roots), path_compare_items);
	look_for_linked(&w, 0);
	r = walk_each(&w, roots, n, err);
	if (r == 0 && left && view->linked.len > w.linked) {
		w.again = true;
		w.from = w.linked;
		look_for_linked(&w, w.from);
		w.linked = view->linked.len;
		r = walk_each(&w, roots, n, err);
	}
	many = take_ptr(w.many);
	return r < 0 || left ? r :
	       fail(err, -E2BIG, "'%s': there are too many names to look for protected ones (more than %zu); start in a smaller directory, or add --search-limit %zu",
		    many ? many : view->policy->cwd, limit, 4 * limit);
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
		.dir_max = SIZE_MAX, .depth_max = WALK_GLOB_DEPTH,
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
	free(w.many);	/* The rule is named instead */
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
	int r = walk_patterns(view, err);

	if (r == 0 && !policy_flag(view->policy, FLAG_FS_DISABLED, false))
		r = walk_protected(view, err);
	if (r == 0 && protected_has_modules(view->policy))
		walk_config_user(view);
	return r;
}
