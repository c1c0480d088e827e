/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk-config.c - where a repository's configuration leads git */

#include "plan/walk-config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/view.h"
#include "plan/walk-git.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"
#include "policy/protect.h"

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
 * struct lead - A setting that names a file or directory, as a row of protect.def
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

static const struct protect_row *find_row(const char *name)
{
	size_t n;
	const struct protect_row *rows = protect_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].kind == PROTECT_REPO && !strcmp(rows[i].name, name))
			return &rows[i];
	}
	return NULL;
}

/* Unless it holds the repository, or all of @top: the whole project would be
 * closed
 */
static void protect(struct reading *r, const struct protect_row *row,
		    const char *top, const char *path)
{
	struct stat st;

	if (!row || !protect_applies(r->view->policy, row) ||
	    path_is_within(path, r->git_dir ? r->git_dir : top) ||
	    path_is_within(path, r->view->policy->cwd) ||
	    !walk_is_writable(r->view, path))
		return;
	if (lstat(path, &st) == 0)
		walk_protect(r->view, path, &st, row->name, row->reason);
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

	if (!path || !walk_is_writable(r->view, path))
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
		walk_missed(r->view, -read);
		return;
	}
	r->left--;
	r->file = file;
	(void)gitconfig_each(buf_str(&text), text.len, on_setting, r);
	r->file = before;
}

void walk_config_for(struct view *view, const char *git_dir, const char *top)
{
	static const char *const names[] = { "config", "config.worktree" };
	struct reading r = { view, git_dir, &top, 1, NULL, WALK_INCLUDES_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *file = path_join(git_dir, names[i]);

		read_file(&r, file);
	}
}

void walk_config(struct view *view, const char *git_dir)
{
	auto_free char *top = path_parent(git_dir);
	const char *project = view->policy->project;

	walk_config_for(view, git_dir, top);
	/* A linked working tree is not beside the repository, but we stand in it */
	if (!path_is_within(top, project))
		walk_config_for(view, git_dir, project);
}

void walk_config_top(struct view *view, const char *dir)
{
	*vec_push(&view->tops) = mem_strdup(dir);
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
