/* SPDX-License-Identifier: Apache-2.0 */
/* view/walk-git.c - what git obeys in the repositories that exist */

#include "view/walk-git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "view/realpath.h"
#include "view/view.h"

/* core.hooksPath, include.path and core.attributesFile name files that git obeys
 * like its own. Many projects have them in the working tree. Filters, aliases and
 * other settings name programs there.
 */

/**
 * struct reading - The files of one repository, or of the user
 * @git_dir:	The repository, or NULL
 * @tops:	Working trees that they are for
 * @file:	What is being read
 * @left:	Files that may still be read
 */
struct reading {
	struct view *view;
	const char *git_dir;
	const char *const *tops;
	size_t ntops;
	const char *file;
	unsigned int left;
};

/**
 * struct lead - A setting that names a file or directory, as a row of protected-names.def
 * @below_file:	A relative one is beside the file that says so; else in the
 *		working tree, for that is where hooks run
 */
static const struct lead {
	const char *section, *name, *row;
	bool below_file;
} leads[] = {
	{ "core", "hookspath", "hooks", false },
	{ "core", "attributesfile", "info/attributes", false },
	{ "include", "path", "config", true },
	{ "includeif", "path", "config", true },
};

static const struct lead *find_lead(const char *key)
{
	const size_t n = strcspn(key, ".");
	const char *name = strrchr(key, '.') + 1;

	for (size_t i = 0; i < ARRAY_SIZE(leads); i++) {
		if (strlen(leads[i].section) == n &&
		    !strncmp(leads[i].section, key, n) &&
		    !strcmp(leads[i].name, name))
			return &leads[i];
	}
	return NULL;
}

static const struct protected_row *find_row(const char *name)
{
	size_t n;
	const struct protected_row *rows = protected_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].kind == PROTECTED_REPO && !strcmp(rows[i].name, name))
			return &rows[i];
	}
	return NULL;
}

/* Unless it holds the repository, or all of @top: the whole project would be
 * closed
 */
static void protect(struct reading *r, const struct protected_row *row,
		    const char *top, const char *path)
{
	struct stat st;

	if (!row || !protected_applies(r->view->policy, row) ||
	    path_is_within(path, r->git_dir ? r->git_dir : top) ||
	    path_is_within(path, r->view->policy->cwd) ||
	    !view_is_writable(r->view, path))
		return;
	if (lstat(path, &st) == 0)
		view_protect(r->view, path, &st, row->name, row->reason);
	else		/* Not found: what is there in the end was planted */
		view_add(r->view, PATH_DENY_WRITE, path,
			 view_own_rule(r->view, path, row->name, row->reason),
			 false);
}

static char *resolve(const struct reading *r, const char *base,
		     const char *value)
{
	const char *home = r->view->policy->home;

	if (value[0] == '~' && value[1] == '/')
		return home ? path_resolve(home, value + 2) : NULL;
	return path_resolve(base, value);
}

static void read_file(struct reading *r, const char *file);

/* A word of a command line may be a program in the working tree, or what a program
 * is to read. One that is not there may still be made, if its directory is.
 */
static void hold_word(struct reading *r, const char *top, const char *word)
{
	auto_free char *path = resolve(r, top, word);
	auto_free char *parent = path ? path_parent(path) : NULL;
	struct stat st;

	if (!path || !view_is_writable(r->view, path))
		return;
	if (lstat(path, &st) == 0 ? S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) :
	    strchr(word, '/') && access(parent, F_OK) == 0)
		protect(r, find_row("config"), top, path);
}

/* The user's own settings are for every working tree: only words that are paths */
static void hold_words(struct reading *r, const char *value)
{
	static const char ends[] = " \t\n'\"`$(){}[]|;&<>!=,:";

	for (const char *p = value + strspn(value, ends); *p;
	     p += strspn(p, ends)) {
		const size_t n = strcspn(p, ends);
		auto_free char *word = mem_strndup(p, n);

		for (size_t i = 0; i < r->ntops; i++) {
			if (r->git_dir || strchr(word, '/'))
				hold_word(r, r->tops[i], word);
		}
		p += n;
	}
}

static void on_setting(void *arg, const char *key, const char *value)
{
	struct reading *r = arg;
	const struct lead *lead = find_lead(key);
	auto_free char *beside = path_parent(r->file);

	if (!lead && !gitconfig_is_harmless(key, value))
		hold_words(r, value);

	for (size_t i = 0; lead && *value && i < r->ntops; i++) {
		auto_free char *path = resolve(r, lead->below_file ?
					       beside : r->tops[i], value);

		if (path)
			protect(r, find_row(lead->row), r->tops[i], path);
		if (path && lead->below_file && !i)
			read_file(r, path);
	}
}

static void read_file(struct reading *r, const char *file)
{
	const char *before = r->file;
	auto_buf struct buf text = { 0 };
	int read;

	if (!r->left)
		return;
	read = fs_read(AT_FDCWD, file, GITCONFIG_MAX, &text, NULL);
	if (read < 0) {
		view_missed(r->view, -read);
		return;
	}
	r->left--;
	r->file = file;
	(void)gitconfig_each(buf_str(&text), text.len, on_setting, r);
	r->file = before;
}

/* walk_config_user() for the repository @git_dir and @n working trees of it */
static void walk_config_for(struct view *view, const char *git_dir,
			    const char *const *tops, size_t n)
{
	static const char *const names[] = { "config", "config.worktree" };
	struct reading r = { view, git_dir, tops, n, NULL, WALK_INCLUDES_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *file = path_join(git_dir, names[i]);

		read_file(&r, file);
	}
}

/* A linked working tree is not beside the repository, but we stand in it */
static void walk_config(struct view *view, const char *git_dir)
{
	auto_free char *top = path_parent(git_dir);
	const char *const tops[] = { top, view->policy->project };

	walk_config_for(view, git_dir, tops, path_is_within(top, tops[1]) ? 1 : 2);
}

void walk_config_user(struct view *view)
{
	const struct policy *p = view->policy;
	struct reading r = {
		view, NULL, (const char *const *)view->tops.v, view->tops.len,
		NULL, WALK_INCLUDES_MAX,
	};
	const struct {
		const char *dir, *name;
	} files[] = {
		{ "/", getenv("GIT_CONFIG_GLOBAL") },
		{ p->home, ".gitconfig" },
		{ p->dirs[DIR_CONFIG], "git/config" },
		{ "/etc", "gitconfig" },
	};

	for (size_t i = 0; r.ntops && i < ARRAY_SIZE(files); i++) {
		auto_free char *file = files[i].dir && files[i].name ?
			path_resolve(files[i].dir, files[i].name) : NULL;

		if (file)
			read_file(&r, file);
	}
}

static bool exists_at(int dir, const char *name, struct stat *st)
{
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void close_dir(struct view *view, const char *path)
{
	auto_free char *closed = realpath_is_closed(path);

	if (closed)
		view_close_dir(view, closed);
}

/* In place of a directory that git looks into */
static void protect_link(struct view *view, const char *path,
			 const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		view_protect(view, path, st, path_base(path),
			     "points git at another repository");
}

static int open_dir(struct view *view, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		view_missed(view, errno);
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
		view_missed(n->view, -r);
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
			    const struct protected_row *row, size_t *left)
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

		if (view_sees(view, names.fd, below, &st)) {
			auto_free char *path = path_resolve(list, below);

			view_protect(view, path, &st, row->name, row->reason);
		}
	}
	return names.fd >= 0;
}

/* Rows that are below the same directory follow each other */
static bool is_beside(const struct protected_row *a, const struct protected_row *b)
{
	return a && !strncmp(a->name, b->name, strcspn(a->name, "*") + 1);
}

const char *const walk_git_todos[] = { "rebase-merge/git-rebase-todo",
	"rebase-merge/strategy", "sequencer/opts", NULL };

/* What is there before the run is the user's (guard/git-sanitize.c) */
static void note_repo(struct view *view, const char *git_dir)
{
	struct view_repo *repo = vec_push(&view->repos);
	auto_buf struct buf todo = { 0 };

	for (size_t i = 0; walk_git_todos[i]; i++) {
		auto_free char *path = path_join(git_dir, walk_git_todos[i]);

		(void)fs_read(AT_FDCWD, path, WALK_TODO_MAX, &todo, NULL);
		buf_addc(&todo, '\n');
	}
	repo->path = mem_strdup(git_dir);
	repo->todo = mem_strdup(buf_str(&todo));
}

static void protect_rows(struct view *view, const char *git_dir, size_t *left)
{
	auto_close int fd = open(git_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct protected_row *rows, *missing = NULL;
	struct stat st;
	size_t n;

	if (fd < 0)
		view_missed(view, errno);
	else if (fstat(fd, &st) == 0 && !(st.st_mode & S_IXUSR))
		close_dir(view, git_dir);
	note_repo(view, git_dir);
	rows = protected_table(&n);
	for (size_t i = 0; fd >= 0 && i < n; i++) {
		if ((rows[i].kind != PROTECTED_REPO &&
		     rows[i].kind != PROTECTED_KEPT) ||
		    !protected_applies(view->policy, &rows[i]) ||
		    is_beside(missing, &rows[i]))
			continue;
		if (strchr(rows[i].name, '*')) {
			if (!protect_starred(view, git_dir, &rows[i], left))
				missing = &rows[i];
		} else if (view_sees(view, fd, rows[i].name, &st)) {
			auto_free char *path = path_join(git_dir,
							 rows[i].name);

			view_protect(view, path, &st, rows[i].name,
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
			    view_sees(view, names.fd, "HEAD", &st);

	while (names_next(&names)) {
		auto_free char *below = path_join(path, names.entry.name);

		if (!(is_git && protected_is_git_data(names.entry.name)) &&
		    view_sees(view, names.fd, names.entry.name, &st))
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

		if (view_sees(view, names.fd, names.entry.name, &st))
			protect_link(view, below, &st);
		note_repo(view, below);
	}
}

void walk_git(struct view *view, const char *git_dir, size_t *left)
{
	auto_free char *modules = path_join(git_dir, "modules");

	protect_rows(view, git_dir, left);
	if (!protected_has_modules(view->policy))
		return;
	protect_modules(view, modules, WALK_GIT_DEPTH, left);
	protect_worktrees(view, git_dir, left);
	walk_config(view, git_dir);
}

/* What is not there yet: where the directory is called ".git", its name says
 * enough
 */
static void protect_missing(struct view *view, const char *dir, int fd)
{
	size_t n;
	const struct protected_row *rows = protected_table(&n);
	struct stat st;

	if (!strcasecmp(path_base(dir), ".git") || !protected_has_modules(view->policy))
		return;
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(dir, rows[i].name);
		auto_free char *above = path_parent(path);

		if (rows[i].kind != PROTECTED_REPO || strchr(rows[i].name, '*') ||
		    !protected_applies(view->policy, &rows[i]) ||
		    view_sees(view, fd, rows[i].name, &st) ||
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
		view_missed(view, errno);
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
	const char *const tops[] = { top };

	errno = 0;	/* What is no pointer is no failure either */
	target = walk_git_target(file, NULL);
	if (!target)
		view_missed(view, errno);
	else if (view_is_writable(view, target))
		(void)walk_git_root(view, target, left);
	if (target && protected_has_modules(view->policy))
		walk_config_for(view, target, tops, 1);
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
