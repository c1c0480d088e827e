/* SPDX-License-Identifier: Apache-2.0 */
/* policy/git.h - which git directories belong to the start directory */

#ifndef POLICY_GIT_H
#define POLICY_GIT_H

#include <stdbool.h>

struct policy;
struct file_reader;

/* Below our state directory: git_made_record() */
#define GIT_MADE "repositories"

/**
 * struct git_repo - The repository around a directory; all paths absolute
 * @top:	The working tree
 * @pointer:	The ".git" file of @top, or NULL where it is a directory
 * @dir:	HEAD and index of this working tree
 * @common:	Objects, refs, hooks and config; @dir unless the working tree is
 *		a linked one
 * @checkout:	The working tree that @common lies in, or NULL
 * @trusted:	@dir points back at us, or lies in @top: see git_discover()
 */
struct git_repo {
	char *top, *pointer, *dir, *common, *checkout;
	bool trusted;
};

/* Find the repository around @start. False if there is none, or its ".git"
 * cannot be read.
 *
 * A ".git" file comes with the project and may name any directory. It is trusted
 * only if that is a git directory of the user which belongs to this working tree: a
 * linked working tree's or a submodule's must point back; that of --separate-git-dir
 * must be neither bare nor another tree's.
 */
bool git_discover(const struct file_reader *reader, const char *start,
		  struct git_repo *ret);
void git_repo_done(struct git_repo *repo);

/* True if the working tree is the project of a command that starts in it: a
 * repository of the user's. The caller checks that it does not hold the home and was
 * not made by a sandboxed command.
 */
bool git_is_project(const struct file_reader *reader, const struct git_repo *repo);

/* project.c: find the repository around the start directory of @policy: true and
 * *@repo, or false if there is none. Its work tree becomes @policy->project, unless it
 * contains the home, is not the user's or was made by a sandboxed command: then the
 * project is the start directory (docs/decisions/project.md).
 */
bool project_find(const struct file_reader *reader, struct policy *policy,
		  struct git_repo *repo);

/* The record that a sandboxed command has made the git directory @dir in a
 * directory that was there before. The caller frees.
 */
char *git_made_record(const char *made, const char *dir);

/* Let the command work with a git directory that lies elsewhere: it becomes
 * writable, without the protected names below it. Nothing where @repo is
 * not trusted.
 */
void git_grant(const struct git_repo *repo, struct policy *policy);

#endif /* POLICY_GIT_H */
