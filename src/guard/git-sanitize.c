/* SPDX-License-Identifier: Apache-2.0 */
/* guard/git-sanitize.c - disarm hooks and settings of repositories made in a run */

#include "guard/git-sanitize.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/btime.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "guard/quarantine.h"
#include "policy/gitconfig.h"
#include "policy/protected-names.h"
#include "view/view.h"
#include "view/walk-git.h"

enum { COMMON_MAX = 8192 };	/* A path */

/* Directories are opened without following a link: the command made them. And it
 * chose their modes: git needs no right to list its hooks, or to write settings.
 */
static int open_made(const char *path)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_PATH |
					      O_DIRECTORY | O_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fs_chmod(fd, st.st_mode | S_IRWXU);
	return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void disarm_hooks(const struct quarantine_config *c, const char *git)
{
	auto_free char *path = path_join(git, "hooks");
	auto_close int fd = open_made(path);
	auto_dir struct dir names = dir_of(fd);
	unsigned int left = GIT_SANITIZE_HOOKS_MAX;
	struct dir_entry entry;
	struct stat st;

	if (fd < 0) {
		/* A link instead of a directory leads git to other hooks */
		if (!lstat(path, &st))
			quarantine_and_report(c, path, S_ISDIR(st.st_mode) ?
				    "git hooks that cannot be looked at" :
				    "git would run what it leads to");
		return;
	}
	while (left && dir_next(&names, &entry) > 0) {
		auto_free char *hook = path_join(path, entry.name);
		const size_t n = strlen(entry.name);

		if (n > 7 && !strcmp(entry.name + n - 7, ".sample"))
			continue;
		left--;
		quarantine_and_report(c, hook, "a git hook made in this run");
	}
	if (!left)	/* Too many to examine: all of them are removed */
		quarantine_and_report(c, path, "more hooks than are looked at");
}

/**
 * struct cleaning - One file of settings
 * @git:	The git directory it is in
 * @keys:	What is taken out of it
 */
struct cleaning {
	const char *git;
	struct buf keys;
};

/* True if the directory @value, as core.worktree has it, is the working tree of a
 * submodule: its ".git" points back, and both are in the same working tree
 */
static bool is_own_tree(const char *git, const char *value)
{
	auto_free char *tree = path_resolve(git, value);
	auto_free char *file = path_join(tree, ".git"), *top = NULL;
	auto_free char *back = walk_git_target(file, NULL);
	const char *in = protected_in_git(git);

	if (!in || !back || strcmp(back, git) != 0)
		return false;
	top = mem_strndup(git, (size_t)(in - git) - strlen("/.git/"));
	return path_is_below(top, tree);
}

static bool note_key(void *arg, const char *key, const char *value)
{
	struct cleaning *c = arg;

	if (!strcmp(key, "core.worktree") && is_own_tree(c->git, value))
		return true;
	buf_addf(&c->keys, "%s%s", c->keys.len ? ", " : "", key);
	return false;
}

/* Rewrite @name in @git without what runs programs */
static void disarm_config(const struct quarantine_config *c, const char *git,
			  const char *name)
{
	auto_close int dir = open_made(git);
	auto_close int fd = dir < 0 ? -1 :
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		       O_CLOEXEC);
	auto_free char *path = path_join(git, name);
	auto_buf struct buf text = { 0 }, clean = { 0 };
	struct cleaning cleaning = { .git = git };
	struct stat st;
	int r;

	if (dir < 0 ? lstat(path, &st) < 0 :
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (fd < 0 || !S_ISREG(st.st_mode) ||
	    fs_read_fd(fd, GITCONFIG_MAX, &text, NULL) < 0) {
		quarantine_and_report(c, path, "git settings that cannot be looked at");
		return;
	}
	r = gitconfig_clean(buf_str(&text), text.len, &clean, note_key,
			    &cleaning);
	buf_adds(&cleaning.keys, " (git may run programs for such settings)");
	if (r < 0)
		quarantine_and_report(c, path, "git settings that cannot be read");
	else if (r > 0 && !quarantine_rewrite(c, dir, path, &text, &clean,
					  buf_str(&cleaning.keys)))
		quarantine_and_report(c, path, "git settings that cannot be cleaned");
	buf_done(&cleaning.keys);
}

/* A directory with HEAD may be a repository: "objects" and "refs" may be elsewhere */
static bool is_git_dir(const char *path)
{
	auto_free char *head = path_join(path, "HEAD");
	struct stat st;

	return !lstat(head, &st);
}

/* The text of the file @path, which has no other name that a later run could write by.
 * No link is followed: behind one, ".." is another directory.
 */
static bool read_made(const char *path, size_t max, struct buf *ret)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY |
					      O_NONBLOCK | O_CLOEXEC, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 1 && fs_read_fd(fd, max, ret, NULL) == 0;
}

bool git_sanitize_is_common(const char *path)
{
	auto_free char *git = path_parent(path);
	auto_free char *above = path_parent(git);
	auto_buf struct buf text = { 0 };

	return !strcmp(path_base(path), "commondir") &&
	       !strcmp(path_base(above), "worktrees") &&
	       read_made(path, COMMON_MAX, &text) &&
	       !strcmp(buf_str(&text), "../..\n");
}

bool git_sanitize_is_modules(const char *path)
{
	auto_buf struct buf text = { 0 };

	return !strcmp(path_base(path), PROTECTED_MODULES) &&
	       read_made(path, GITCONFIG_MAX, &text) && gitconfig_is_modules(&text);
}

/* True if git runs something for @line: a command, or in @strategies a program that
 * a path leads to
 */
static bool is_run(const char *line, size_t n, bool strategies)
{
	const size_t skip = strspn(line, " \t");
	const size_t word = skip < n ? strcspn(line + skip, " \t\r\n") : 0;

	if (strategies)
		return memchr(line, '/', n);
	return (word == 4 && !strncmp(line + skip, "exec", 4)) ||
	       (word == 1 && line[skip] == 'x');
}

/* True if @text has that very line */
static bool has_line(const char *text, const char *line, size_t n)
{
	for (const char *p = text; p && *p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strcspn(p, "\n") == n && !strncmp(p, line, n))
			return true;
	}
	return false;
}

/* @text without the commands that are not in @before; true if there are any */
static bool drop_commands(const struct buf *text, const char *before,
			  bool strategies, struct buf *out)
{
	const char *p = buf_str(text);
	bool found = false;

	while (*p) {
		const size_t n = strcspn(p, "\n"), all = n + (p[n] == '\n');
		const bool drop = is_run(p, n, strategies) &&
				  !has_line(before, p, n);

		if (!drop)
			buf_add(out, p, all);
		found |= drop;
		p += all;
	}
	return found;
}

/* @which: of walk_git_todos; @before: what all of them were, or NULL */
static void disarm_todo(const struct quarantine_config *c, const char *git,
			size_t which, const char *before)
{
	static const char reason[] =
		"git would run a program on --continue";
	auto_free char *path = path_join(git, walk_git_todos[which]);
	auto_free char *parent = path_parent(path);
	auto_close int dir = sys_open_nofollow(AT_FDCWD, parent, O_PATH |
					       O_DIRECTORY | O_CLOEXEC, 0);
	auto_close int fd = dir < 0 ? -1 :
		openat(dir, path_base(path), O_RDONLY | O_NOFOLLOW |
		       O_NONBLOCK | O_CLOEXEC);
	auto_buf struct buf text = { 0 }, clean = { 0 };
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fs_read_fd(fd, WALK_TODO_MAX, &text, NULL) < 0 ||
	    strlen(buf_str(&text)) != text.len) {
		quarantine_and_report(c, path, reason);
		return;
	}
	if (drop_commands(&text, before, which > 0, &clean) &&
	    !quarantine_rewrite(c, dir, path, &text, &clean, reason))
		quarantine_and_report(c, path, reason);
}

static void disarm_one(const struct quarantine_config *c, const char *git)
{
	/* Names the directory with the settings that git obeys in @git */
	auto_free char *path = path_join(git, "commondir");
	struct stat st;

	disarm_hooks(c, git);
	disarm_config(c, git, "config");
	disarm_config(c, git, "config.worktree");
	if (lstat(path, &st) == 0 && !git_sanitize_is_common(path))
		quarantine_and_report(c, path, "points git at another repository");
	for (size_t i = 0; walk_git_todos[i]; i++)
		disarm_todo(c, git, i, NULL);
}

/* Git directories below @path: submodules' names may have slashes, and one may
 * hide another. Only in one of them "objects" is data. False if that is more
 * than is looked at.
 */
static bool disarm_below(const struct quarantine_config *c, const char *path,
			 unsigned int depth, unsigned int *left)
{
	const bool is_git = depth < GIT_SANITIZE_DEPTH_MAX && is_git_dir(path);
	auto_close int fd = open_made(path);
	auto_dir struct dir names = dir_of(fd);
	struct dir_entry entry;
	struct stat there;
	bool all = fd >= 0 || lstat(path, &there) < 0;

	while (fd >= 0 && all && dir_next(&names, &entry) > 0) {
		auto_free char *below = path_join(path, entry.name);
		struct stat st;

		if ((is_git && protected_is_git_data(entry.name)) ||
		    lstat(below, &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode) && strcmp(entry.name, "HEAD") != 0)
			quarantine_and_report(c, below, "points git at another repository");
		if (!S_ISDIR(st.st_mode))
			continue;
		if (!depth || !*left)
			return false;
		--*left;
		if (is_git_dir(below))
			disarm_one(c, below);
		all = disarm_below(c, below, depth - 1, left);
	}
	return all;
}

static const char *find_todo(const struct view *view, const char *git)
{
	for (size_t i = 0; view && i < view->repos.len; i++) {
		if (!strcmp(view->repos.v[i].path, git))
			return view->repos.v[i].todo;
	}
	return NULL;
}

void git_sanitize_check_todos(const struct quarantine_config *config,
			 const struct view *now, const struct view *before,
			 const struct timespec *since)
{
	for (size_t i = 0; i < now->repos.len; i++) {
		const char *git = now->repos.v[i].path;

		for (size_t j = 0; walk_git_todos[j]; j++) {
			auto_free char *path = path_join(git,
							 walk_git_todos[j]);

			if (btime_changed_after(path, since))
				disarm_todo(config, git, j,
					    find_todo(before, git));
		}
	}
}

void git_sanitize_disarm(const struct quarantine_config *config, const char *path)
{
	static const char *const below[] = { "modules", "worktrees" };

	disarm_one(config, path);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		auto_free char *dir = path_join(path, below[i]);
		unsigned int left = GIT_SANITIZE_MODULES_MAX;

		if (!disarm_below(config, dir, GIT_SANITIZE_DEPTH_MAX, &left))
			quarantine_and_report(config, dir, "more repositories than are looked at");
	}
}

bool git_sanitize_is_pointer(const char *path)
{
	auto_free char *target = walk_git_target(path, NULL);
	const char *in = NULL;

	for (const char *at = target ? protected_in_git(target) : NULL; at;
	     at = protected_in_git(at - 1))
		in = at;
	return in && (protected_is_module(in) ||
		      (!strncmp(in, "worktrees/", 10) && !strchr(in + 10, '/')));
}
