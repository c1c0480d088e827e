/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/observer-policy.c - the observer's policy, decided by the view
 *
 * Mounts protect what exists. What does not exist yet is refused here: protected
 * names at any depth, the settings files of every scope, and the directories
 * that would have to be created for them.
 */

#include "observe/observer-policy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "guard/planted.h"
#include "plan/fuse-mask.h"
#include "plan/plan.h"
#include "policy/gitconfig.h"
#include "policy/never-list.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "report/violation.h"
#include "sandbox/seccomp.h"
#include "view/symlink-guard.h"
#include "view/view.h"
#include "view/walk-git.h"

enum {
	OBSERVE_NOTED_MAX = 8,		/* Names in one line */
	OBSERVE_LOCKS_MAX = 8,		/* Of git's settings, that the command holds */
	OBSERVE_PRIVATE_MAX = 6,	/* Names of the private home in one line */
};

/**
 * struct observer_rules - The view, and buffers for the strings of one verdict
 * @initial:	What the mounts of the sandbox were made from
 * @plan:	How they were made; or what Landlock grants instead
 * @since:	When the run began: older repositories are existing ones
 * @plain:	For the quick answer
 * @store:	Where changes are staged, or NULL
 * @noted, @nnoted: What was written that a later command runs, in words
 * @locks, @nlocks: Locks of git's settings that were made for the command: open, so that
 *		their inode numbers are not used again
 * @private, @nprivate: What was written in the private home, in words
 * @keyring:	See observer_rules_made_keyring()
 * @once:	Writable for the current call, by a person's answer; or NULL
 */
struct observer_rules {
	const struct view *view, *initial;
	const struct plan *plan;
	struct fast_check *plain;
	char *store;
	struct timespec since;
	struct buf file, key, noted, private;
	unsigned int nnoted, nprivate, nlocks;
	int locks[OBSERVE_LOCKS_MAX];
	const char *once;
	bool keyring;
};

struct observer_rules *observer_rules_new(const struct view *view, const struct plan *plan,
			    const char *store, const struct timespec *since)
{
	struct observer_rules *o = mem_zalloc(sizeof(*o));
	const struct view *initial = plan->view;

	o->view = view;
	o->initial = initial;
	o->plan = plan;
	o->since = *since;
	o->plain = fast_check_new(view, initial);
	o->store = store ? mem_strdup(store) : NULL;
	return o;
}

void observer_rules_spare(struct view *view, const struct timespec *since,
		   const struct planted *planted)
{
	struct view_rules *r = &view->rules;
	size_t kept = 0;

	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].found && r->v[i].list == PATH_DENY_WRITE &&
		    btime_is_after(r->v[i].path, since) &&
		    !(planted && planted_is_users(planted, r->v[i].path)))
			free(r->v[i].path);
		else
			r->v[kept++] = r->v[i];
	}
	r->len = kept;
}

void observer_rules_free(struct observer_rules *o)
{
	if (!o)
		return;
	buf_done(&o->file);
	buf_done(&o->key);
	buf_done(&o->noted);
	for (size_t i = 0; i < o->nlocks && i < OBSERVE_LOCKS_MAX; i++)
		close_fd(&o->locks[i]);
	buf_done(&o->private);
	fast_check_free(o->plain);
	free(o->store);
	free(o);
}

bool observer_rules_has_patterns(const struct observer_rules *o)
{
	return o->view->globs.len > 0;
}

/* Called by the fast path's thread as well: nothing here may change */
bool observer_rules_is_fast(const struct observer_rules *o, const char *path)
{
	return fast_check_covers(o->plain, path) &&
	       (o->plan->tier == TIER_FULL || landlock_grants_cover(o->plan, path));
}

/* True if @path, of which @in is below a git directory, lies in a submodule's that was
 * made in this run: `git submodule update` makes them, and the end of the run cleans them
 */
static bool in_new_module(const struct observer_rules *o, const char *path,
			  const char *in)
{
	const size_t n = protected_module_len(o->view->policy, in);
	auto_free char *dir = n ? mem_strndup(path, (size_t)(in - path) + n) : NULL;
	struct stat st;

	return dir && !lstat(dir, &st) && S_ISDIR(st.st_mode) &&
	       btime_is_after(dir, &o->since);
}

/* The repository row behind @path, if it lies in an existing repository */
static const struct protected_row *match_repo(const struct observer_rules *o,
					    const char *path, bool *exempt)
{
	struct stat st;

	for (const char *in = protected_in_git(path); in;
	     in = protected_in_git(in - 1)) {
		auto_free char *dir = mem_strndup(path,
						  (size_t)(in - path) - 1);
		const struct protected_row *row =
			protected_match_repo(o->view->policy, in);

		if (row && !lstat(dir, &st) && !btime_is_after(dir, &o->since) &&
		    !in_new_module(o, path, in))
			return row;
		*exempt |= row != NULL;
	}
	return NULL;
}

/* The same for a git directory of any name, deeper than the view has them */
static const struct protected_row *match_shape(const struct observer_rules *o,
					     const char *path, bool *exempt)
{
	if (!protected_is_repo_name(path))
		return NULL;
	for (const char *in = strchr(path + 1, '/'); in; in = strchr(in, '/')) {
		auto_free char *dir = mem_strndup(path, (size_t)(in++ - path));
		const struct protected_row *row =
			protected_match_repo(o->view->policy, in);

		if (!row || !walk_git_is_dir(dir))
			continue;
		if (!btime_is_after(dir, &o->since) && !in_new_module(o, path, in))
			return row;
		*exempt = true;
	}
	return NULL;
}

/* Packages contain such names and are not opened as projects; so do clones, which are
 * disarmed at the end
 */
static bool is_exempt(const struct observer_rules *o, const char *root,
		      const char *path)
{
	return path_has(path + strlen(root), "node_modules") ||
	       overlay_path_in_repository(o->plan, o->store, root, path, &o->since);
}

/* The row for a protected name at any depth, unless it is *@exempt */
static const struct protected_row *match_name(const struct observer_rules *o,
					    const char *path, bool *exempt)
{
	const struct protected_row *row = protected_match(o->view->policy, path);
	auto_free char *root = row ? view_root_of(o->view, path) : NULL;

	if (!root || !path_is_below(root, path))
		return NULL;
	/* The root may itself be called so: only what is below it counts */
	row = protected_match(o->view->policy, path + strlen(root));
	*exempt = row && is_exempt(o, root, path);
	return *exempt ? NULL : row;
}

/* True if protected names lie below @path */
static bool leads(const struct observer_rules *o, const char *path)
{
	auto_free char *root = view_root_of(o->view, path);

	return root && path_is_below(root, path) &&
	       protected_leads(o->view->policy, path + strlen(root));
}

/* A missing directory that would have to be made for a protected file */
static const struct view_rule *match_above(const struct observer_rules *o,
					   const char *path)
{
	const struct view *view = o->view;
	struct stat st;

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_DENY_WRITE && !r->mode &&
		    r->rule->strength == RULE_ALWAYS &&
		    path_is_below(path, r->path))
			return lstat(path, &st) < 0 ? r : NULL;
	}
	return NULL;
}

static void set_rule(struct observer_rules *o, const struct path_rule *rule,
		     struct observer_verdict *ret)
{
	const struct source *source = rule ? rule->origin.source : NULL;

	o->file.len = o->key.len = 0;
	if (!rule)
		return;
	/* Ours are not to be edited; an option is */
	if (source && source->scope != SCOPE_BUILTIN) {
		buf_adds(&o->file, source->name);
		if (source->text)
			buf_addf(&o->file, ":%u", origin_line(&rule->origin));
		ret->rule_file = buf_str(&o->file);
	}
	buf_adds(&o->key, rule->origin.key ? rule->origin.key : rule->text);
	ret->rule_key = buf_str(&o->key);
}

/* True of a ".git" that is no directory, and was there before: a submodule's, or
 * a linked working tree's
 */
static bool is_pointer(const struct observer_rules *o, const char *path)
{
	struct stat st;

	return !strcasecmp(path_base(path), ".git") && !lstat(path, &st) &&
	       !S_ISDIR(st.st_mode) && !btime_is_after(path, &o->since);
}

void observer_rules_take_noted(struct observer_rules *o, struct observer_rules *before)
{
	buf_add(&o->noted, before->noted.p, before->noted.len);
	o->nnoted += before->nnoted;
	buf_add(&o->private, before->private.p, before->private.len);
	o->nprivate += before->nprivate;
	o->keyring |= before->keyring;
}

bool observer_rules_is_foreign(const struct observer_rules *o, const char *path)
{
	return never_list_is_other_home(o->view->policy, path);
}

bool observer_rules_is_ours(const struct observer_rules *o, const char *path)
{
	return never_list_is_ours(o->view->policy, path);
}

bool observer_rules_made_keyring(const struct observer_rules *o)
{
	return o->keyring;
}

const char *observer_rules_private(const struct observer_rules *o)
{
	return buf_str(&o->private);
}

const char *observer_rules_noted(const struct observer_rules *o)
{
	return buf_str(&o->noted);
}

static const char *below_cwd(const struct observer_rules *o, const char *path)
{
	const char *cwd = o->view->policy->cwd;

	return path_is_below(cwd, path) ? path + strlen(cwd) + 1 : path;
}

/* Once each, and not too many. Takes @text over. */
static void note(struct observer_rules *o, char *text)
{
	if (!strstr(buf_str(&o->noted), text) && o->nnoted < OBSERVE_NOTED_MAX) {
		o->nnoted++;
		buf_addf(&o->noted, "%s%s", o->noted.len ? ", " : "", text);
	}
	free(text);
}

/* The part of @below, a path in the home, that a user would name to keep it: a file
 * or directory of one program. Caches and histories are left out.
 */
static size_t private_len(const char *below)
{
	static const char *const dirs[] = { ".config/", ".local/share/", ".local/" };
	static const char *const skipped[] = {
		".cache", ".local/state", ".npm", ".cargo", ".gradle", ".m2",
		"go", ".bash_history", ".lesshst", ".lesshsQ", ".viminfo",
		".python_history", ".node_repl_history", ".wget-hsts",
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++) {
		if (path_is_within(skipped[i], below))
			return 0;
	}
	for (size_t i = 0; !n && i < ARRAY_SIZE(dirs); i++) {
		if (!strncmp(below, dirs[i], strlen(dirs[i])))
			n = strlen(dirs[i]);
	}
	return n + strcspn(below + n, "/");
}

/* Profile home: what is written to the private home goes with the sandbox */
static void note_private(struct observer_rules *o, const char *path)
{
	const char *home = o->view->home;
	const char *below;
	auto_free char *name = NULL;
	size_t n;

	if (o->view->policy->profile != PROFILE_HOME || !home ||
	    o->nprivate > OBSERVE_PRIVATE_MAX || !path_is_below(home, path) ||
	    view_place(o->view, path) != VIEW_PRIVATE)
		return;
	below = path + strlen(home) + 1;
	n = private_len(below);
	name = n ? mem_printf("~/%.*s ", (int)n, below) : NULL;
	if (!name || strstr(buf_str(&o->private), name))
		return;
	buf_adds(&o->private, o->nprivate++ == OBSERVE_PRIVATE_MAX ? "... " : name);
}

/* It may be written, and is named in the end with what will run it */
static void note_name(struct observer_rules *o, const char *path)
{
	auto_free char *root = protected_may_match(path) ?
		view_root_of(o->view, path) : NULL;
	const struct protected_row *row = root && path_is_below(root, path) ?
		protected_noted(o->view->policy, path + strlen(root)) : NULL;

	if (!row || is_exempt(o, root, path))
		return;
	note(o, mem_printf("%s (%s)", below_cwd(o, path), row->reason));
}

/* Allowed by the lists; but it may be a protected name */
static void check_names(struct observer_rules *o, const char *path,
			struct observer_verdict *ret)
{
	const struct protected_row *row;
	const struct view_rule *above;
	bool exempt = false;

	if (view_is_private(o->view, path))
		return;
	row = match_name(o, path, &exempt);
	if (!row)
		row = match_repo(o, path, &exempt);
	if (!row)
		row = match_shape(o, path, &exempt);
	/* A git directory may have any name, but not without this one */
	ret->scan = exempt || leads(o, path) || protected_is_head(path);
	if (ret->scan && is_pointer(o, path)) {
		ret->answer = OBSERVER_DENIED;
		ret->reason = "points git at a repository";
		return;
	}
	if (row) {
		o->key.len = 0;
		buf_addf(&o->key, "protected name %s", row->name);
		ret->answer = OBSERVER_DENIED;
		ret->reason = row->reason;
		ret->rule_key = buf_str(&o->key);
		ret->unprotect = row->name;
		return;
	}
	above = match_above(o, path);
	if (above) {
		ret->answer = OBSERVER_DENIED;
		ret->reason = above->rule->origin.reason ?
			above->rule->origin.reason : "a protected file's directory";
		set_rule(o, above->rule, ret);
	}
	if (!above)
		note_name(o, path);
}

static bool may_write(const struct observer_rules *o, const char *path)
{
	return view_verdict(o->view, VIEW_WRITE, path).allowed;
}

static bool may_write_above(const struct observer_rules *o, const char *path)
{
	auto_free char *parent = path_parent(path);

	return may_write(o, parent);
}

/* The row that protects @path, a file which git replaces by a rename of its lock: one in
 * a git directory, or .gitmodules, which may be missing; or NULL
 */
static const struct protected_row *match_locked(const struct observer_rules *o,
						const char *path)
{
	const bool modules = !strcmp(path_base(path), PROTECTED_MODULES);
	const struct protected_row *row = NULL;
	bool exempt = false;
	struct verdict v;

	if (o->plan->ephemeral || (!modules && !protected_in_git(path)))
		return NULL;
	v = view_verdict(o->view, VIEW_WRITE, path);
	if (!v.allowed && v.rule)
		row = protected_row_of(v.rule);
	else if (v.allowed && modules)
		row = match_name(o, path, &exempt);
	return row && (row->kind == PROTECTED_REPO ||
		       !strcmp(row->name, PROTECTED_MODULES)) ? row : NULL;
}

/* git writes new settings to "config.lock" and renames that. Where a command of the user's
 * outside does so, the command inside must not get hold of the file, which will be
 * protected under its new name: it may only have locks that the observer made for it.
 */
static bool is_lock(const struct observer_rules *o, const char *path)
{
	const size_t n = strlen(path), suffix = strlen(".lock");
	auto_free char *to = n > suffix && !strcmp(path + n - suffix, ".lock") ?
			     mem_strndup(path, n - suffix) : NULL;

	return to && match_locked(o, to);
}

/* True if a lock stands at @path that was not made for the command */
static bool is_foreign_lock(const struct observer_rules *o, const char *path)
{
	struct stat st, own;

	if (!is_lock(o, path) || lstat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < o->nlocks && i < OBSERVE_LOCKS_MAX; i++) {
		if (fstat(o->locks[i], &own) == 0 && own.st_dev == st.st_dev &&
		    own.st_ino == st.st_ino)
			return false;
	}
	return true;
}

void observer_rules_made(struct observer_rules *o, const char *path, int fd)
{
	int *slot = &o->locks[o->nlocks % OBSERVE_LOCKS_MAX];

	if (!is_lock(o, path))
		return;
	if (o->nlocks++ >= OBSERVE_LOCKS_MAX)
		close_fd(slot);
	*slot = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void observer_rules_allow_once(struct observer_rules *o, const char *path)
{
	o->once = path;
}

static bool is_allowed_once(const struct observer_rules *o, const char *path)
{
	return o->once && !strcmp(o->once, path);
}

/* A lock of git's settings; or in a root that an edit granted after the sandbox was
 * built, or that did not exist then; or that edits took back and granted again, while its mount has
 * stayed read-only; or, in the landlock tier, in a directory where Landlock cannot
 * allow what the policy does
 */
bool observer_rules_needs_emulation(const struct observer_rules *o,
				    const char *path, bool read_only)
{
	if (is_allowed_once(o, path))
		return true;
	if (view_is_unmade(o->initial, path) || is_lock(o, path))
		return may_write(o, path);
	if (o->plan->tier != TIER_FULL)
		return may_write(o, path) && !landlock_grants_cover(o->plan, path) &&
		       (may_write_above(o, path) ||
			!view_verdict(o->initial, VIEW_WRITE, path).allowed);
	return o->view != o->initial && may_write(o, path) &&
	       ((read_only && !o->plan->ephemeral) ||
		!view_verdict(o->initial, VIEW_WRITE, path).allowed);
}

/* True if a mount shows something else there: the host's file cannot be read */
static bool is_redacted(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_REDACTED && !strcmp(m->path, path))
			return true;
	}
	return false;
}

void observer_rules_verdict(struct observer_rules *o, enum observer_op op,
			    const char *path, struct observer_verdict *ret)
{
	struct verdict v = view_verdict(o->view, op == OBSERVER_READ ?
					VIEW_READ : VIEW_WRITE, path);

	/* Where no rule says anything; protected names are looked for below */
	if (op == OBSERVER_WRITE && !v.allowed && !v.rule && !v.final &&
	    is_allowed_once(o, path))
		v.allowed = true;
	/* What we make is made on the host, whatever was promised */
	if (op == OBSERVER_WRITE && v.allowed && o->plan->ephemeral &&
	    observer_rules_needs_emulation(o, path, false))
		v = (struct verdict){ false, NULL, "not writable when the run began, so --ephemeral cannot stage it", true };
	/* Not the host's file of that name, which is hidden: the sandbox's */
	if (op == OBSERVER_READ && !v.allowed)
		v.allowed = view_place(o->view, path) == VIEW_PRIVATE ||
			    is_redacted(o->plan, path);
	*ret = (struct observer_verdict){
		.answer = v.allowed ? OBSERVER_ALLOWED :
			  v.rule ||
			  /* Writable when the sandbox was built, and its mount may be still */
			  (o->view != o->initial &&
			   view_verdict(o->initial, VIEW_WRITE, path).allowed) ?
			  OBSERVER_DENIED : OBSERVER_OUTSIDE,
		.reason = v.rule && !v.allowed && v.rule->origin.reason ?
			  v.rule->origin.reason : v.reason,
	};
	set_rule(o, v.allowed ? NULL : v.rule, ret);
	ret->yields = verdict_yields(&v, op == OBSERVER_READ ? VIEW_READ
							     : VIEW_WRITE, path);
	ret->final = v.final || (v.rule && !v.allowed &&
				 v.rule->origin.source &&
				 v.rule->strength == RULE_ALWAYS);
	if (!v.allowed && v.rule && op == OBSERVER_WRITE &&
	    protected_row_of(v.rule))
		ret->unprotect = protected_row_of(v.rule)->name;
	if (!v.allowed && !v.rule)
		ret->rule_key = "sandbox.filesystem.allowWrite";
	if (v.allowed && op == OBSERVER_WRITE) {
		o->keyring |= !strcmp(path_base(path), "pubring.kbx") &&
			      view_place(o->view, path) == VIEW_PRIVATE;
		note_private(o, path);
		check_names(o, path, ret);
	}
	if (v.allowed && op == OBSERVER_WRITE && is_foreign_lock(o, path))
		*ret = (struct observer_verdict){
			.answer = OBSERVER_DENIED, .final = true,
			.reason = "protected settings are being written to it outside the sandbox",
		};
}

/* What was made in this run is found by its birth, wherever it is moved to; what
 * is older is not, nor is what a link leads to
 */
void observer_rules_check_move(struct observer_rules *o, const char *what,
			       const char *path, struct observer_verdict *ret)
{
	auto_free char *root = view_root_of(o->view, path);
	auto_free char *at = what ? overlay_path_find(o->plan, o->store, what) : NULL;
	const struct path_rule *rule;
	struct stat st = { 0 };
	const bool dir = at && lstat(at, &st) == 0 && S_ISDIR(st.st_mode);

	*ret = (struct observer_verdict){ .answer = OBSERVER_ALLOWED };
	if (!root || view_is_private(o->view, path))
		return;
	rule = dir ? rename_guard_find(o->view, what, at, path) : NULL;
	if (rule) {
		ret->answer = OBSERVER_DENIED;
		ret->reason = "a rule denies something in it";
		set_rule(o, rule, ret);
		return;
	}
	if (!leads(o, path) && (!what || !leads(o, what)))
		return;
	ret->scan = true;
	if ((dir && btime_is_after(at, &o->since)) ||
	    is_exempt(o, root, path))
		return;
	ret->answer = OBSERVER_DENIED;
	ret->reason = "protected names lie in it";
}

/* Without mounts nothing else holds a writable root in its place, or what is
 * above something protected
 */
bool observer_rules_is_fixed(const struct observer_rules *o, const char *path)
{
	return o->plan->tier != TIER_FULL &&
	       (landlock_grants_carve(o->plan, path) ||
		(may_write(o, path) && !may_write_above(o, path)));
}

/* The settings of a repository of the user's, for which @from is the new text */
static bool is_git_settings(const struct observer_rules *o, const char *from,
			    const char *to)
{
	const size_t n = strlen(to);
	const struct protected_row *row = match_locked(o, to);

	return row && (!strcmp(row->name, "config") ||
		       !strcmp(row->name, PROTECTED_MODULES)) &&
	       !strcmp(path_base(to), row->name) && !strncmp(from, to, n) &&
	       !strcmp(from + n, ".lock") && may_write(o, from);
}

static int read_settings(const char *path, int mode, struct buf *ret)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, mode | O_NONBLOCK |
					      O_NOCTTY | O_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 1 || fs_read_fd(fd, GITCONFIG_MAX, ret, NULL) < 0)
		return -1;
	return take_fd(&fd);
}

/* What was read and looked at is what is written, to the file that stands there: a
 * new one in its place would be without its mount for a moment
 */
bool observer_rules_replace(struct observer_rules *o, const char *from,
			    const char *to)
{
	auto_buf struct buf old = { 0 }, new = { 0 }, added = { 0 };
	auto_close int source = -1, target = -1;
	struct stat st;

	if (!is_git_settings(o, from, to) || is_foreign_lock(o, from))
		return false;
	source = read_settings(from, O_RDONLY, &new);
	target = source < 0 ? -1 : read_settings(to, O_RDWR, &old);
	if (source < 0 || (target < 0 && (lstat(to, &st) == 0 || errno != ENOENT)) ||
	    gitconfig_may_become(&old, &new, &added) < 0 ||
	    (strcmp(path_base(to), "config") != 0 && !gitconfig_is_modules(&new)))
		return false;
	if (target < 0)
		target = sys_open_nofollow(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL |
					   O_CLOEXEC, 0666);
	if (target < 0 || lseek(target, 0, SEEK_SET) < 0 ||
	    fs_write_all(target, buf_str(&new), new.len) < 0 ||
	    ftruncate(target, (off_t)new.len) < 0)
		return false;
	(void)unlink(from);
	if (added.len)
		note(o, mem_printf("%s (git uses %s)", below_cwd(o, to),
				   buf_str(&added)));
	return true;
}

/* In a git directory that it makes, git tries whether links work (tXXXXXX to "testing"), and
 * without them checks out files. Any other link in modules/ could lead git to hooks.
 */
bool observer_rules_link(const struct observer_rules *o, const char *target,
			 const char *path)
{
	const char *in = protected_in_git(path), *name = path_base(path);
	auto_free char *parent = path_parent(path);
	auto_close int dir = -1;

	if (!in || !protected_is_module(in) || strcmp(target, "testing") != 0 ||
	    name[0] != 't' || strlen(name) != strlen("tXXXXXX") ||
	    o->plan->ephemeral || !btime_is_after(parent, &o->since))
		return false;
	dir = sys_open_nofollow(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return dir >= 0 && symlinkat(target, dir, name) == 0;
}

enum fuse_mask_part observer_rules_mask(const struct observer_rules *o,
					const char *path)
{
	return o->plan->talk ? fuse_mask_part(o->plan, path) : FUSE_MASK_NO_PART;
}

void observer_rules_describe_call(int nr, struct violation *ret)
{
	struct seccomp_row row;
	size_t cursor = 0;

	while (seccomp_next_row(&cursor, &row)) {
		if (row.number != nr)
			continue;
		ret->op = mem_strdup(row.name);
		ret->target = mem_strdup(row.name);
		ret->reason = mem_strdup(nr != SYS_socket ? row.reason :
			"a raw socket needs root's rights, which nothing inside has");
		ret->rule_key = mem_strdup("system call filter");
		return;
	}
}

struct observer_socket *observer_rules_sockets(const struct policy *policy,
					size_t *ret_len)
{
	const struct list_rules *names = &policy->lists[LIST_UNIX_SOCKETS];
	struct observer_socket *sockets =
		mem_zalloc((names->len + 1) * sizeof(*sockets));

	*ret_len = 0;
	for (size_t i = 0; i < names->len; i++) {
		auto_free char *real = NULL;
		auto_close int fd = -1;
		struct stat st;

		if (symlink_guard_follow(policy, names->v[i].text, &real) == 0 &&
		    !never_list_is_ours(policy, real))
			fd = sys_open_nofollow(AT_FDCWD, real, O_PATH, 0);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			sockets[(*ret_len)++] = (struct observer_socket){
				st.st_dev, st.st_ino, btime_of(fd),
				take_ptr(real),
			};
	}
	return sockets;
}
