/* SPDX-License-Identifier: Apache-2.0 */
/* policy/protected-names.h - names that no command may write, in any writable place
 *
 * Names are compared without case: on some file systems ".GIT" is git's
 * directory, and such a name is not needed on the others.
 */

#ifndef POLICY_PROTECTED_NAMES_H
#define POLICY_PROTECTED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct path_rule;
struct policy;

enum protected_kind {
	PROTECTED_FILE,		/* A file of that name below any directory */
	PROTECTED_DIR,		/* A directory likewise, and all below it */
	PROTECTED_NOTED,		/* A file likewise, which may be written and is
				 * named at the end of the run
				 */
	PROTECTED_REPO,		/* Below a git directory, and those of its
				 * submodules; "*" is one component
				 */
	PROTECTED_KEPT,		/* Likewise, but only once it exists */
	PROTECTED_SENTINEL,	/* Below the start directory only */
};

/**
 * struct protected_row - One protected name
 * @name:	One or more components, no slash at either end
 * @srt:	Part of profile srt
 * @reason:	Why
 */
struct protected_row {
	enum protected_kind kind;
	const char *name;
	bool srt;
	const char *reason;
};

/* The whole table: @ret_len rows */
const struct protected_row *protected_table(size_t *ret_len);

/* The row behind @rule, if it is about something that exists and has a protected
 * name, which filesystem.unprotect would give up; or NULL
 */
const struct protected_row *protected_row_of(const struct path_rule *rule);

/* True if @row counts under @policy: its profile has it, and neither
 * filesystem.unprotect nor allowGitConfig nor filesystem.disabled lifts it
 */
bool protected_applies(const struct policy *policy,
		     const struct protected_row *row);

/* The FILE or DIR row that protects the absolute @path, which lies below a
 * writable directory: one that names it, or a directory above it. NULL if
 * none does. The caller, which finds git directories, checks rows of a repository.
 */
const struct protected_row *protected_match(const struct policy *policy,
					const char *path);

/* What follows @name, a component, in the name of @row ("/hgrc" for ".hg", "" if
 * that is all); NULL if @row is for another one
 */
const char *protected_rest(const struct protected_row *row, const char *name);

/* The NOTED row for the absolute @path, or NULL */
const struct protected_row *protected_noted(const struct policy *policy,
					const char *path);

/* A quick test: false if none of protected_match(), protected_leads() without its part
 * protected_leads_repo(), and protected_noted() can match @path
 */
bool protected_may_match(const char *path);

/* What follows the next "/.git/" in @path, or NULL */
const char *protected_in_git(const char *path);

/* True if the git directories of submodules are protected as others are */
bool protected_has_modules(const struct policy *policy);

/* True of names in a git directory that hold only data, whatever they are
 * called below
 */
bool protected_is_git_data(const char *name);

/* ".gitmodules", and the file that git writes and renames to it */
#define PROTECTED_MODULES ".gitmodules"
#define PROTECTED_MODULES_LOCK PROTECTED_MODULES ".lock"

/* True if @path, by its name, makes a directory a git directory that is not called
 * so
 */
bool protected_is_head(const char *path);

/* True if @path has the name of a file that git reads settings or hooks from: the
 * directory above may be a git directory with another name than ".git"
 */
bool protected_is_repo_name(const char *path);

/* True if a submodule's git directory may be at @relative, below another: not in
 * what holds only data there
 */
bool protected_is_module(const char *relative);

/* The REPO row for @relative, a path below a git directory ("hooks/x"), or in
 * that of a submodule ("modules/a/b/hooks/x"); or NULL
 */
const struct protected_row *protected_match_repo(const struct policy *policy,
					     const char *relative);

/* Length of the submodule's git directory ("modules/a/b") that @relative lies in if
 * protected_match_repo() has a row for it; 0 if it lies in none
 */
size_t protected_module_len(const struct policy *policy, const char *relative);

/* True if the absolute @path, below a writable directory, is one that a
 * protected name lies in (".claude", ".git", ".git/modules/x"): a
 * directory or a link that is put there brings what is in it along
 */
bool protected_leads(const struct policy *policy, const char *path);
/* The same of @relative, a path below a git directory */
bool protected_leads_repo(const struct policy *policy, const char *relative);

#endif /* POLICY_PROTECTED_NAMES_H */
