/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/planted-verdict.c - whether a planted file stays, is disarmed or is moved away
 *
 * A planted file goes to quarantine. A repository that was made in the run must keep
 * working, so only what git would execute is removed from it.
 */

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/btime.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "guard/git-sanitize.h"
#include "guard/journal.h"
#include "guard/planted-scan.h"
#include "policy/protected-names.h"
#include "view/walk-git.h"

/* The git directory that @path lies in if it was made in this run, or that of the
 * submodule; else NULL. The caller frees.
 */
static char *made_around(const struct planted_scan *s, const char *path)
{
	const char *in = protected_in_git(path);
	const size_t n = in ? protected_module_len(s->policy, in) : 0;
	auto_free char *git = in ? mem_strndup(path, (size_t)(in - path) - 1) : NULL;
	auto_free char *module = n ? mem_strndup(path, (size_t)(in - path) + n) : NULL;

	if (git && btime_is_after(git, &s->journal->since))
		return take_ptr(git);
	return module && btime_is_after(module, &s->journal->since) ?
	       take_ptr(module) : NULL;
}

/* The git directory that the file @path names, if it was made in this run, in a
 * place that the run could write, and through no link; or NULL. The caller frees.
 */
static char *made_for(const struct journal *j, const char *path)
{
	auto_free char *named = NULL;
	auto_free char *real = walk_git_target(path, &named);
	struct stat st;

	return real && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       !strcmp(real, named) && journal_root(j, real) &&
	       btime_is_after(real, &j->since) ? take_ptr(real) : NULL;
}

void planted_decide(struct planted_scan *s, const char *path, const char *reason)
{
	const struct journal *j = s->journal;
	const char *root = journal_root(j, path);
	const bool is_git = !strcasecmp(path_base(path), ".git");
	auto_free char *parent = path_parent(path), *plant = NULL;
	char *git = made_around(s, path);

	if (!git && is_git)
		git = made_for(j, path);
	if (git) {
		*vec_push(&s->repos) = git;
		return;
	}
	/* A worktree made in this run points at its repository */
	if (!root || git_sanitize_is_common(path) || git_sanitize_is_modules(path) ||
	    (is_git ? btime_is_after(parent, &j->since) &&
		      git_sanitize_is_pointer(path) :
		      btime_in_repository(root, path, &j->since)))
		return;
	plant = quarantine_target(root, path);
	(void)quarantine_and_report(&s->quarantine, plant, reason);
}
