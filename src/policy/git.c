/* SPDX-License-Identifier: Apache-2.0 */
/* policy/git.c - which git directories belong to the start directory */

#include "policy/git.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/file-reader.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"
#include "policy/protected-names.h"

enum {
	POINTER_MAX = 8192,	/* "gitdir: " and a path */
	CONFIG_MAX = 256 << 10,
	WALK_MAX = 256,		/* Directories above the start directory */
};

void git_repo_done(struct git_repo *repo)
{
	free(repo->top);
	free(repo->pointer);
	free(repo->dir);
	free(repo->common);
	free(repo->checkout);
	*repo = (struct git_repo){ 0 };
}

static enum file_reader_kind kind_of(const struct file_reader *reader, const char *dir,
				const char *name)
{
	auto_free char *path = path_join(dir, name);

	return reader->kind(reader->arg, path, NULL);
}

/* The one line of a small file, without its end; NULL if there is none */
static char *read_line(const struct file_reader *reader, const char *dir,
		       const char *name)
{
	auto_free char *path = path_join(dir, name);
	auto_buf struct buf b = { 0 };

	if (reader->read(reader->arg, path, POINTER_MAX, &b, NULL) < 0 ||
	    strlen(buf_str(&b)) != b.len)
		return NULL;
	return mem_strndup(buf_str(&b), strcspn(buf_str(&b), "\r\n"));
}

static bool has_shape(const struct file_reader *reader, const char *dir)
{
	return kind_of(reader, dir, "HEAD") == FILE_READER_FILE &&
	       kind_of(reader, dir, "objects") == FILE_READER_DIR &&
	       kind_of(reader, dir, "refs") == FILE_READER_DIR;
}

/**
 * struct config - The two keys of a git config that matter here
 * @known:	The file was read and understood
 * @includes:	It includes other files, which are not read: then it is not trusted
 * @worktree:	core.worktree as written, or NULL
 */
struct config {
	bool known, bare, includes;
	char *worktree;
};

static void take_setting(void *arg, const char *key, const char *value)
{
	struct config *config = arg;

	if (!strcmp(key, "core.bare"))
		config->bare = strcasecmp(value, "false") != 0;
	if (!strcmp(key, "core.worktree")) {
		free(config->worktree);
		config->worktree = mem_strdup(value);
	}
	if (!strncmp(key, "include", 7))
		config->includes = true;
}

static struct config read_config(const struct file_reader *reader,
				 const char *common)
{
	auto_free char *path = path_join(common, "config");
	auto_buf struct buf b = { 0 };
	struct config config = { 0 };

	config.known = reader->read(reader->arg, path, CONFIG_MAX, &b,
				    NULL) == 0 &&
		       gitconfig_each(buf_str(&b), b.len, take_setting,
				      &config) == 0;
	return config;
}

/* A linked working tree's git directory names the ".git" file it is for */
static bool linked_points_back(const struct file_reader *reader,
			       const struct git_repo *repo)
{
	auto_free char *back = read_line(reader, repo->dir, "gitdir");
	auto_free char *path = back ? path_resolve(repo->dir, back) : NULL;
	auto_free char *home = path_parent(repo->dir);

	return path && !strcmp(path, repo->pointer) &&
	       path_is_below(repo->common, home) &&
	       !strcmp(path_base(home), "worktrees") &&
	       has_shape(reader, repo->common);
}

/* A submodule's names its working tree; a separate one names none */
static bool separate_is_ours(const struct file_reader *reader,
			     const struct git_repo *repo)
{
	struct config config = read_config(reader, repo->dir);
	auto_free char *worktree = config.worktree;
	auto_free char *top = worktree ? path_resolve(repo->dir, worktree)
				       : NULL;

	if (!config.known || config.bare || config.includes ||
	    !has_shape(reader, repo->dir))
		return false;
	if (top)
		return !strcmp(top, repo->top);
	/* "elsewhere/.git" is the git directory of another working tree */
	return strcmp(path_base(repo->dir), ".git") != 0;
}

static void follow_common(const struct file_reader *reader, struct git_repo *repo)
{
	auto_free char *line = read_line(reader, repo->dir, "commondir");
	auto_free char *parent = NULL;

	repo->common = line ? path_resolve(repo->dir, line)
			    : mem_strdup(repo->dir);
	parent = path_parent(repo->common);
	if (!strcmp(path_base(repo->common), ".git"))
		repo->checkout = take_ptr(parent);
}

/* False if ".git" is neither a repository nor a pointer to one */
static bool follow_pointer(const struct file_reader *reader, struct git_repo *repo)
{
	auto_free char *line = read_line(reader, repo->top, ".git");
	bool owned = false;

	if (!line || strncmp(line, "gitdir: ", 8) != 0 || !line[8])
		return false;
	repo->pointer = path_join(repo->top, ".git");
	repo->dir = path_resolve(repo->top, line + 8);
	follow_common(reader, repo);
	if (reader->kind(reader->arg, repo->dir, &owned) != FILE_READER_DIR ||
	    !owned)
		return true;
	repo->trusted = strcmp(repo->dir, repo->common) != 0 ?
		linked_points_back(reader, repo) :
		separate_is_ours(reader, repo);
	return true;
}

bool git_discover(const struct file_reader *reader, const char *start,
		  struct git_repo *ret)
{
	struct git_repo repo = { .top = mem_strdup(start) };
	bool found = false;

	for (int i = 0; i < WALK_MAX; i++) {
		const enum file_reader_kind kind = kind_of(reader, repo.top,
						      ".git");

		if (kind == FILE_READER_DIR) {
			repo.dir = path_join(repo.top, ".git");
			follow_common(reader, &repo);
			repo.trusted = !strcmp(repo.dir, repo.common);
			found = true;
		} else if (kind == FILE_READER_FILE) {
			found = follow_pointer(reader, &repo);
		}
		if (found || kind == FILE_READER_FILE || !path_up(repo.top))
			break;
	}
	if (found)
		*ret = repo;
	else
		git_repo_done(&repo);
	return found;
}

char *git_made_record(const char *made, const char *dir)
{
	auto_free char *name = path_id(dir);

	return path_join(made, name);
}

static bool is_plain_dir(const struct file_reader *reader, const char *path)
{
	auto_free char *real = reader->real(reader->arg, path);
	bool owned = false;

	return reader->kind(reader->arg, path, &owned) == FILE_READER_DIR && owned &&
	       real && !strcmp(real, path);
}

bool git_is_project(const struct file_reader *reader, const struct git_repo *repo)
{
	struct config config = read_config(reader, repo->common);
	auto_free char *worktree = config.worktree;
	auto_free char *named = worktree ? path_resolve(repo->dir, worktree)
					 : NULL;

	return repo->trusted && config.known && !config.bare &&
	       (!named || !strcmp(named, repo->top)) &&
	       is_plain_dir(reader, repo->top) &&
	       is_plain_dir(reader, repo->dir) &&
	       has_shape(reader, repo->common);
}

static void protect_below(struct policy *policy, const struct source *source,
			  const char *dir)
{
	size_t n;
	const struct protected_row *rows = protected_table(&n);

	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(dir, rows[i].name);

		/* Names with a star are found by the view's walk */
		if (rows[i].kind == PROTECTED_REPO &&
		    !strchr(rows[i].name, '*') &&
		    protected_applies(policy, &rows[i]))
			policy_add_literal(policy, PATH_DENY_WRITE, path,
				RULE_ALWAYS,
				origin_make(source, rows[i].name,
					    rows[i].reason));
	}
}

void git_grant(const struct git_repo *repo, struct policy *policy)
{
	const struct source *source;

	if (!repo->trusted)
		return;
	source = policy_add_source(policy, SCOPE_BUILTIN, "git", NULL, 0,
				   repo->top);
	if (repo->pointer) {
		policy_add_literal(policy, PATH_ALLOW_WRITE, repo->common,
			RULE_BASELINE, origin_make(source, NULL,
			"the git directory of this working tree"));
		policy_add_literal(policy, PATH_DENY_WRITE, repo->pointer,
			RULE_ALWAYS, origin_make(source, NULL,
			"points git at its repository"));
	}
	protect_below(policy, source, repo->common);
	if (strcmp(repo->dir, repo->common) != 0)
		protect_below(policy, source, repo->dir);
}
