/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk-git.c - what git obeys in the repositories that exist */

#include "plan/walk-git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "plan/walk-config.h"
#include "policy/protect.h"

void walk_protect(struct view *view, const char *path, const struct stat *st,
		  const char *name, const char *reason)
{
	const struct path_rule *rule = view_own_rule(view, path, name, reason);

	view_add_found(view, PATH_DENY_WRITE, path, rule, st);
	if (S_ISLNK(st->st_mode))
		view_add_target(view, PATH_DENY_WRITE, path, rule);
}

void walk_missed(struct view *view, int error)
{
	if (err_is_shortage(error))
		view->missed = error;
}

int walk_check(const struct view *view, struct err *err)
{
	const int error = view->missed;

	return !error ? 0 :
	       fail(err, -error, "not all that is to be protected can be looked at: %s%s; try again",
		    strerror(error), error == EMFILE ? " (ulimit -n)" : "");
}

static bool exists_at(int dir, const char *name, struct stat *st)
{
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool walk_sees(struct view *view, int dir, const char *name, struct stat *st)
{
	const bool seen = exists_at(dir, name, st);

	if (!seen)
		walk_missed(view, errno);
	return seen;
}

void walk_close(struct view *view, const char *closed)
{
	static const char reason[] = "nobody can look into it (chmod u+rx)";

	view_add_closed(view, PATH_DENY_WRITE, closed,
			view_own_rule(view, closed, path_base(closed), reason));
}

static void close_dir(struct view *view, const char *path)
{
	auto_free char *closed = resolve_closed(path);

	if (closed)
		walk_close(view, closed);
}

/* In place of a directory that git looks into */
static void protect_link(struct view *view, const char *path,
			 const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		walk_protect(view, path, st, path_base(path),
			     "points git at another repository");
}

static int open_dir(struct view *view, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		walk_missed(view, errno);
	if (fd < 0 ? errno == EACCES :
	    fstat(fd, &st) == 0 && !(st.st_mode & S_IXUSR))
		close_dir(view, path);
	else if (fd < 0 && errno != ENOENT && lstat(path, &st) == 0)
		protect_link(view, path, &st);
	return take_fd(&fd);
}

/**
 * struct names - The names in a directory that git looks into
 * @left:	How many may still be looked at, here and elsewhere
 */
struct names {
	struct view *view;
	int fd;
	struct dir dir;
	struct dir_entry entry;
	size_t *left;
};

static struct names names_in(struct view *view, const char *path, size_t *left)
{
	const int fd = open_dir(view, path);

	return (struct names){
		.view = view, .fd = fd, .dir = dir_of(fd), .left = left,
	};
}

static bool names_next(struct names *n)
{
	int r;

	if (n->fd < 0 || !*n->left)
		return false;
	r = dir_next(&n->dir, &n->entry);
	if (r < 0)
		walk_missed(n->view, -r);
	if (r <= 0)
		return false;
	--*n->left;
	return true;
}

static void names_donep_(struct names *n)
{
	dir_donep_(&n->dir);
	close_fd(&n->fd);
}

#define auto_names	__attribute__((cleanup(names_donep_)))

/* A row such as "worktrees/<any>/commondir": one component is free. False if
 * nothing is there that could have it.
 */
static bool protect_starred(struct view *view, const char *git_dir,
			    const struct protect_row *row, size_t *left)
{
	const char *star = strchr(row->name, '*');
	auto_free char *above = mem_strndup(row->name,
					    (size_t)(star - row->name));
	auto_free char *list = path_join(git_dir, above);
	auto_names struct names names = names_in(view, list, left);
	struct stat st;

	while (names_next(&names)) {
		auto_free char *below = mem_printf("%s%s", names.entry.name,
						   star + 1);

		if (walk_sees(view, names.fd, below, &st)) {
			auto_free char *path = path_resolve(list, below);

			walk_protect(view, path, &st, row->name, row->reason);
		}
	}
	return names.fd >= 0;
}

/* Rows that are below the same directory follow each other */
static bool is_beside(const struct protect_row *a, const struct protect_row *b)
{
	return a && !strncmp(a->name, b->name, strcspn(a->name, "*") + 1);
}

/* What is there before the run is the user's (watch/gitrepo.c) */
static void note_repo(struct view *view, const char *git_dir)
{
	auto_free char *path = path_join(git_dir, WALK_GIT_TODO);
	struct view_repo *repo = vec_push(&view->repos);
	auto_buf struct buf todo = { 0 };

	repo->path = mem_strdup(git_dir);
	repo->todo = fs_read(AT_FDCWD, path, WALK_TODO_MAX, &todo, NULL) < 0 ?
		     NULL : mem_strdup(buf_str(&todo));
}

static void protect_rows(struct view *view, const char *git_dir, size_t *left)
{
	auto_close int fd = open(git_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct protect_row *rows, *missing = NULL;
	struct stat st;
	size_t n;

	if (fd < 0)
		walk_missed(view, errno);
	else if (fstat(fd, &st) == 0 && !(st.st_mode & S_IXUSR))
		close_dir(view, git_dir);
	note_repo(view, git_dir);
	rows = protect_table(&n);
	for (size_t i = 0; fd >= 0 && i < n; i++) {
		if ((rows[i].kind != PROTECT_REPO &&
		     rows[i].kind != PROTECT_KEPT) ||
		    !protect_applies(view->policy, &rows[i]) ||
		    is_beside(missing, &rows[i]))
			continue;
		if (strchr(rows[i].name, '*')) {
			if (!protect_starred(view, git_dir, &rows[i], left))
				missing = &rows[i];
		} else if (walk_sees(view, fd, rows[i].name, &st)) {
			auto_free char *path = path_join(git_dir,
							 rows[i].name);

			walk_protect(view, path, &st, rows[i].name,
				     rows[i].reason);
		}
	}
}

static void protect_modules(struct view *view, const char *path,
			    unsigned int depth, size_t *left);

static void protect_module(struct view *view, const char *path,
			   const struct stat *st, unsigned int depth,
			   size_t *left)
{
	if (S_ISDIR(st->st_mode)) {
		protect_rows(view, path, left);
		if (depth)
			protect_modules(view, path, depth, left);
	} else if (strcmp(path_base(path), "HEAD") != 0) {
		protect_link(view, path, st);
	}
}

/* A submodule's name may have slashes, and what looks like a git directory may
 * have been made to hide one below it: so all of them are looked into. Only in
 * a git directory "objects" is data.
 */
static void protect_modules(struct view *view, const char *path,
			    unsigned int depth, size_t *left)
{
	auto_names struct names names = names_in(view, path, left);
	struct stat st;
	const bool is_git = depth < WALK_GIT_DEPTH &&
			    walk_sees(view, names.fd, "HEAD", &st);

	while (names_next(&names)) {
		auto_free char *below = path_join(path, names.entry.name);

		if (!(is_git && protect_is_git_data(names.entry.name)) &&
		    walk_sees(view, names.fd, names.entry.name, &st))
			protect_module(view, below, &st, depth - 1, left);
	}
}

/* A linked working tree's directory that is elsewhere */
static void protect_worktrees(struct view *view, const char *git_dir,
			      size_t *left)
{
	auto_free char *path = path_join(git_dir, "worktrees");
	auto_names struct names names = names_in(view, path, left);
	struct stat st;

	while (names_next(&names)) {
		auto_free char *below = path_join(path, names.entry.name);

		if (walk_sees(view, names.fd, names.entry.name, &st))
			protect_link(view, below, &st);
		note_repo(view, below);
	}
}

void walk_git(struct view *view, const char *git_dir, size_t *left)
{
	auto_free char *modules = path_join(git_dir, "modules");

	protect_rows(view, git_dir, left);
	if (!protect_has_modules(view->policy))
		return;
	protect_modules(view, modules, WALK_GIT_DEPTH, left);
	protect_worktrees(view, git_dir, left);
	walk_config(view, git_dir);
}

/* What is not there yet: where the directory is called ".git", its name says
 * enough to whoever asks
 */
static void protect_missing(struct view *view, const char *dir, int fd)
{
	size_t n;
	const struct protect_row *rows = protect_table(&n);
	struct stat st;

	if (!strcasecmp(path_base(dir), ".git") || !protect_has_modules(view->policy))
		return;
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(dir, rows[i].name);
		auto_free char *above = path_parent(path);

		if (rows[i].kind != PROTECT_REPO || strchr(rows[i].name, '*') ||
		    !protect_applies(view->policy, &rows[i]) ||
		    walk_sees(view, fd, rows[i].name, &st) ||
		    access(above, F_OK) < 0)
			continue;
		view_add(view, PATH_DENY_WRITE, path,
			 view_own_rule(view, path, rows[i].name,
				       rows[i].reason), false);
	}
}

static bool has_shape(int dir)
{
	struct stat st;

	return exists_at(dir, "HEAD", &st) &&
	       ((exists_at(dir, "objects", &st) && exists_at(dir, "refs", &st)) ||
		exists_at(dir, "commondir", &st));
}

bool walk_git_is_dir(const char *dir)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, dir, O_PATH |
					      O_DIRECTORY, 0);

	return fd >= 0 && has_shape(fd);
}

bool walk_git_root(struct view *view, const char *dir, size_t *left)
{
	auto_free char *head = path_join(dir, "HEAD");
	auto_close int fd = -1;
	struct stat st;

	if (lstat(head, &st) == 0)	/* Else it is none, in one call */
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !has_shape(fd)) {
		walk_missed(view, errno);
		return false;
	}
	walk_git(view, dir, left);
	protect_missing(view, dir, fd);
	return true;
}

bool walk_git_is_part(const char *name)
{
	return !strcmp(name, "refs") || !strcmp(name, "commondir");
}

void walk_git_pointer(struct view *view, const char *file, size_t *left)
{
	auto_free char *target = NULL, *top = path_parent(file);

	errno = 0;	/* What is no pointer is no failure either */
	target = walk_git_target(file, NULL);
	if (!target)
		walk_missed(view, errno);
	else if (walk_is_writable(view, target))
		(void)walk_git_root(view, target, left);
	if (target && protect_has_modules(view->policy))
		walk_config_for(view, target, top);
}

bool walk_is_writable(const struct view *view, const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE &&
		    path_is_below(view->rules.v[i].path, path))
			return true;
	}
	return false;
}

char *walk_git_target(const char *file, char **ret_named)
{
	auto_buf struct buf text = { 0 };
	auto_free char *parent = path_parent(file), *path = NULL;
	auto_free char *line = NULL;

	if (fs_read(AT_FDCWD, file, WALK_POINTER_MAX, &text, NULL) < 0 ||
	    strncmp(buf_str(&text), "gitdir: ", 8) != 0)
		return NULL;
	line = mem_strndup(buf_str(&text) + 8,
			   strcspn(buf_str(&text) + 8, "\r\n"));
	path = path_resolve(parent, line);
	if (ret_named)
		*ret_named = mem_strdup(path);
	return realpath(path, NULL);
}
