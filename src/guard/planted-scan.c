/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/planted-scan.c - find planted files below the writable roots
 *
 * Theory of operation: the view is built again and compared with the one from
 * before: a protected name that is found now and was not then has been
 * planted (planted-verdict.c).
 */

#include "guard/planted-scan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/btime.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "guard/git-sanitize.h"
#include "guard/journal.h"
#include "policy/git.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "view/realpath.h"
#include "view/view.h"
#include "view/walk-git.h"

const char PLANTED_OBEYED[] = "the next run would obey it";

bool planted_scan_has(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	struct stat st;

	return !lstat(path, &st);
}

/* Files that together make the start directory look like a bare repository:
 * git would obey them wherever it is called in there
 */
static void take_sentinels(struct planted_scan *s, const struct policy *policy)
{
	const char *cwd = s->journal->cwd;
	const bool bare = planted_scan_has(cwd, "HEAD") && planted_scan_has(cwd, "objects") &&
			  planted_scan_has(cwd, "refs");
	const struct protected_row *rows;
	size_t n;

	rows = protected_table(&n);
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(cwd, rows[i].name);

		if (rows[i].kind != PROTECTED_SENTINEL ||
		    !protected_applies(policy, &rows[i]) ||
		    !journal_root(s->journal, path) ||
		    journal_existed(s->journal, path))
			continue;
		if (planted_scan_has(cwd, rows[i].name) &&
		    (bare || !strcmp(rows[i].name, "HEAD")))
			(void)quarantine_and_report(&s->quarantine, path, rows[i].reason);
	}
}

/* Not what a link leads to, which may be anything of the user's: the link goes */
bool planted_scan_is_found(const struct view_rule *r)
{
	return r->found && !r->target && r->list == PATH_DENY_WRITE;
}

/* True if @path is a directory that was closed to us, and is open now */
static bool open_again(const char *path)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_PATH |
					      O_DIRECTORY | O_CLOEXEC, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       fs_chmod(fd, st.st_mode | S_IRWXU) == 0;
}

/* No run starts in a root that is closed: it was closed from inside */
void planted_scan_open(const struct journal *j)
{
	for (size_t i = 0; i < j->roots.len; i++) {
		auto_free char *closed = realpath_is_closed(j->roots.v[i]);

		if (closed && path_is_within(j->roots.v[i], closed))
			(void)open_again(closed);
	}
}

/* Directories that were closed in this run: true if one is open now */
static bool open_closed(const struct journal *j, const struct view *view)
{
	bool opened = false;

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->closed && r->list == PATH_DENY_WRITE &&
		    journal_root(j, r->path) &&
		    !journal_existed(j, r->path) &&
		    (!view->deep || btime_changed_after(r->path, &j->since)))
			opened = open_again(r->path) || opened;
	}
	return opened;
}

/* What is there now. Nothing may hide in a directory without a mode; in each
 * that is opened may be another.
 */
static int look(const struct journal *j, struct policy *policy,
		struct walk_cache *cache, bool deep, struct view **ret,
		struct err *err)
{
	bool opened = true;
	int r = 0;

	planted_scan_open(j);
	for (int i = 0; r == 0 && opened && i < PLANTED_OPEN_MAX; i++) {
		view_free(*ret);
		*ret = NULL;
		r = view_build_how(policy, &(struct view_how){
			.cache = deep ? NULL : cache, .after = true,
			.since = deep ? &j->since.tv_sec : NULL }, ret, err);
		opened = r == 0 && open_closed(j, *ret);
	}
	return r;
}

static const char *reason_of(const struct view_rule *r)
{
	const char *reason = r->rule->origin.reason;

	return reason ? reason : "a rule denies it";
}

static bool is_of_git(const struct view_rule *r)
{
	size_t n, i = 0;
	const struct protected_row *rows = protected_table(&n);

	while (i < n && ((rows[i].kind != PROTECTED_REPO &&
			  rows[i].kind != PROTECTED_KEPT) ||
			 strcmp(rows[i].name, r->rule->text) != 0))
		i++;
	return i < n && !protected_in_git(r->path);
}

/* The git directory that @r was found in for its shape and not for its name; or
 * NULL. The caller frees.
 */
static char *shape_of(const struct planted_scan *s, const struct view_rule *r)
{
	char *dir = is_of_git(r) ? path_parent(r->path) : NULL;

	for (const char *p = r->rule->text; dir && (p = strchr(p, '/')); p++) {
		char *above = path_parent(dir);

		free(dir);
		dir = above;
	}
	if (dir && (walk_git_is_dir(dir) || strings_have(&s->spared, dir)))
		return dir;
	free(dir);
	return NULL;
}

/* True if something that git obeys in @dir was protected before */
static bool was_known(const struct journal *j, const char *dir)
{
	size_t n;
	const struct protected_row *rows = protected_table(&n);

	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(dir, rows[i].name);

		if (rows[i].kind == PROTECTED_REPO && journal_existed(j, path))
			return true;
	}
	return false;
}

/* A directory that has become a git directory in this run. One that was made in
 * it must work. In another one there may be files of the user's which only look
 * like git's: then what makes it one goes.
 */
static bool take_shape(struct planted_scan *s, const struct view_rule *r)
{
	auto_free char *dir = shape_of(s, r), *head = NULL;
	const struct timespec *since = &s->journal->since;

	if (!dir || was_known(s->journal, dir))
		return false;
	if (btime_is_after(dir, since)) {
		*vec_push(&s->repos) = take_ptr(dir);
		return true;
	}
	if (btime_came_after(r->path, since))
		return false;
	head = path_join(dir, "HEAD");
	if (s->guessed && !btime_came_after(head, since))
		return true;
	(void)quarantine_and_report(&s->quarantine, head,
			  "would make the directory a bare repository");
	*vec_push(&s->spared) = take_ptr(dir);
	return true;
}

static void take_rule(struct planted_scan *s, const struct view_rule *r)
{
	if (!journal_existed(s->journal, r->path) && !take_shape(s, r))
		planted_decide(s, r->path, reason_of(r));
}

/* A rule denies it by its path, and it was not there for a mount to hold */
static bool is_denied(const struct view_rule *r)
{
	return r->list == PATH_DENY_WRITE && r->mode && !r->closed &&
	       !r->target;
}

/* What was put into a protected directory that no mount held */
static void take_inside(struct planted_scan *s, const struct view_rule *r)
{
	auto_close int fd = -1;
	auto_dir struct dir names = dir_of(-1);
	unsigned int left = PLANTED_INSIDE_MAX;
	struct dir_entry entry;

	if (!planted_scan_is_found(r) || !S_ISDIR(r->mode) ||
	    journal_existed(s->journal, r->path))
		return;
	fd = sys_open_nofollow(AT_FDCWD, r->path, O_RDONLY | O_DIRECTORY |
			       O_CLOEXEC, 0);
	names = dir_of(fd);
	while (fd >= 0 && left-- && dir_next(&names, &entry) > 0) {
		auto_free char *path = path_join(r->path, entry.name);

		if (btime_came_after(path, &s->journal->since))
			planted_decide(s, path, reason_of(r));
	}
}

/* Without an observer: also deeper than the first walk was, where only times tell what
 * existed before; and paths that a rule denies by name. A command that an observer
 * refused something may have won a race, but there the user's own files are as
 * likely.
 */
static int sweep_deep(struct planted_scan *s, struct policy *policy,
		      struct err *err)
{
	auto_view struct view *view = NULL;
	const int r = look(s->journal, policy, NULL, true, &view, err);

	for (size_t i = 0; view && i < view->rules.len; i++) {
		const struct view_rule *rule = &view->rules.v[i];

		if (!btime_came_after(rule->path, &s->journal->since))
			take_inside(s, rule);
		else if (planted_scan_is_found(rule) || (!s->seen && is_denied(rule)))
			take_rule(s, rule);
	}
	return r;
}

/* A repository around what was there before would widen the project of later
 * runs in it: it counts once a run was started in the directory itself
 */
static void record_made(const struct planted_scan *s, const char *git)
{
	auto_free char *top = path_parent(git);
	auto_free char *dir = path_join(s->quarantine.state, GIT_MADE);
	auto_free char *record = git_made_record(dir, git);
	auto_close int made = -1;
	auto_close int fd = -1;

	if (btime_is_after(top, &s->journal->since))
		return;
	made = fs_open_private_dir(dir, NULL);
	if (made >= 0)
		fd = openat(made, path_base(record), O_WRONLY | O_CREAT |
			    O_CLOEXEC, 0600);
}

/* Once each, however many names led to it, and however many there are */
static void disarm_repos(struct planted_scan *s)
{
	const char *last = NULL;

	if (s->repos.len)
		qsort(s->repos.v, s->repos.len, sizeof(*s->repos.v),
		      path_compare_items);
	for (size_t i = 0; i < s->repos.len; i++) {
		if (!last || strcmp(last, s->repos.v[i]) != 0) {
			git_sanitize_disarm(&s->quarantine, s->repos.v[i]);
			record_made(s, s->repos.v[i]);
		}
		last = s->repos.v[i];
	}
	strings_done(&s->repos);
	strings_done(&s->spared);
}

static void sweep_found(struct planted_scan *s, const struct view *view)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (!planted_scan_is_found(r))
			continue;
		if (!s->guessed ||
		    !btime_was_before(r->path, &s->journal->since))
			take_rule(s, r);
		else if (!journal_existed(s->journal, r->path))
			(void)take_shape(s, r);
	}
}

/* Its absence has no mount, and the observer reads a path before the kernel does */
static void take_obeyed(struct planted_scan *s)
{
	const struct journal *j = s->journal;

	for (size_t i = 0; i < j->obeyed.len; i++) {
		if (planted_scan_has("/", j->obeyed.v[i]) &&
		    !journal_existed(j, j->obeyed.v[i]))
			planted_decide(s, j->obeyed.v[i], PLANTED_OBEYED);
	}
}

int planted_scan_all(struct planted_scan *s, struct policy *policy, struct walk_cache *cache,
	      bool deep, struct err *err)
{
	auto_view struct view *view = NULL;
	int r = look(s->journal, policy, cache, false, &view, err);

	if (r < 0)
		return r;
	s->policy = policy;
	sweep_found(s, view);
	take_obeyed(s);
	git_sanitize_check_todos(&s->quarantine, view, s->before, &s->journal->since);
	if (deep)
		r = sweep_deep(s, policy, err);
	disarm_repos(s);
	take_sentinels(s, policy);
	return r;
}
