/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/observe.c - the observer's questions, answered by the view
 *
 * The mounts hold what exists. What does not exist yet is held here: protected
 * names at any depth, the settings files of every scope, and the directories
 * that would have to be made for them.
 */

#include "lib/observe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "lib/aside.h"
#include "lib/moved.h"
#include "lib/network.h"
#include "lib/told.h"
#include "lib/upper.h"
#include "plan/grants.h"
#include "plan/mask.h"
#include "plan/plain.h"
#include "plan/plan.h"
#include "plan/planted.h"
#include "plan/view.h"
#include "plan/walk-git.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"
#include "policy/protect.h"
#include "watch/birth.h"
#include "watch/born.h"
#include "watch/observer.h"

enum { OBSERVE_NOTED_MAX = 8 };		/* Names in one line */

/**
 * struct observe - The view, and room for one answer's words
 * @initial:	What the mounts of the sandbox were made from
 * @plan:	How they were made; or what Landlock grants instead
 * @since:	When the run began: older repositories are existing ones
 * @plain:	For the quick answer
 * @store:	Where changes are kept aside, or NULL
 * @noted, @nnoted: What was written that a later command runs, in words
 */
struct observe {
	const struct view *view, *initial;
	const struct plan *plan;
	struct plain *plain;
	char *store;
	struct timespec since;
	struct buf file, key, noted;
	unsigned int nnoted;
};

struct observe *observe_new(const struct view *view, const struct plan *plan,
			    const struct timespec *since)
{
	struct observe *o = mem_zalloc(sizeof(*o));
	const struct view *initial = plan->view;

	o->view = view;
	o->initial = initial;
	o->plan = plan;
	o->since = *since;
	o->plain = plain_new(view, initial);
	o->store = plan->ephemeral ? aside_place(view->policy) : NULL;
	return o;
}

void observe_spare(struct view *view, const struct timespec *since,
		   const struct born *born)
{
	struct view_rules *r = &view->rules;
	size_t kept = 0;

	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].found && r->v[i].list == PATH_DENY_WRITE &&
		    birth_is_after(r->v[i].path, since) &&
		    !(born && born_is_late(born, r->v[i].path)))
			free(r->v[i].path);
		else
			r->v[kept++] = r->v[i];
	}
	r->len = kept;
}

void observe_free(struct observe *o)
{
	if (!o)
		return;
	buf_done(&o->file);
	buf_done(&o->key);
	buf_done(&o->noted);
	plain_free(o->plain);
	free(o->store);
	free(o);
}

/* Asked by a thread of its own as well: nothing here may change */
static bool is_plain(void *arg, const char *path)
{
	const struct observe *o = arg;

	return plain_covers(o->plain, path) &&
	       (o->plan->tier == TIER_FULL || grants_cover(o->plan, path));
}

/* The repository row behind @path, if it lies in an existing repository */
static const struct protect_row *match_repo(const struct observe *o,
					    const char *path, bool *exempt)
{
	struct stat st;

	for (const char *in = protect_in_git(path); in;
	     in = protect_in_git(in - 1)) {
		auto_free char *dir = mem_strndup(path,
						  (size_t)(in - path) - 1);
		const struct protect_row *row =
			protect_match_repo(o->view->policy, in);

		if (row && !lstat(dir, &st) && !birth_is_after(dir, &o->since))
			return row;
		*exempt |= row != NULL;
	}
	return NULL;
}

/* The same for a git directory of any name, deeper than the view knows them */
static const struct protect_row *match_shape(const struct observe *o,
					     const char *path, bool *exempt)
{
	if (!protect_is_repo_name(path))
		return NULL;
	for (const char *in = strchr(path + 1, '/'); in; in = strchr(in, '/')) {
		auto_free char *dir = mem_strndup(path, (size_t)(in++ - path));
		const struct protect_row *row =
			protect_match_repo(o->view->policy, in);

		if (!row || !walk_git_is_dir(dir))
			continue;
		if (!birth_is_after(dir, &o->since))
			return row;
		*exempt = true;
	}
	return NULL;
}

/* Packages bring such names too, and nobody opens those as a project; so do
 * clones, and what is in those is looked at in the end
 */
static bool is_exempt(const struct observe *o, const char *root,
		      const char *path)
{
	return path_has(path + strlen(root), "node_modules") ||
	       upper_in_repository(o->plan, o->store, root, path, &o->since);
}

/* The row for a protected name at any depth, unless it is *@exempt */
static const struct protect_row *match_name(const struct observe *o,
					    const char *path, bool *exempt)
{
	const struct protect_row *row = protect_match(o->view->policy, path);
	auto_free char *root = row ? view_root_of(o->view, path) : NULL;

	if (!root || !path_is_below(root, path))
		return NULL;
	/* The root may itself be called so: only what is below it counts */
	row = protect_match(o->view->policy, path + strlen(root));
	*exempt = row && is_exempt(o, root, path);
	return *exempt ? NULL : row;
}

/* True if protected names lie below @path */
static bool leads(const struct observe *o, const char *path)
{
	auto_free char *root = view_root_of(o->view, path);

	return root && path_is_below(root, path) &&
	       protect_leads(o->view->policy, path + strlen(root));
}

/* A missing directory that would have to be made for a protected file */
static const struct view_rule *match_above(const struct observe *o,
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

static void set_rule(struct observe *o, const struct path_rule *rule,
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
static bool is_pointer(const struct observe *o, const char *path)
{
	struct stat st;

	return !strcasecmp(path_base(path), ".git") && !lstat(path, &st) &&
	       !S_ISDIR(st.st_mode) && !birth_is_after(path, &o->since);
}

static void deny_row(struct observe *o, const struct protect_row *row,
		     struct observer_verdict *ret)
{
	o->key.len = 0;
	buf_addf(&o->key, "protected name %s", row->name);
	ret->answer = OBSERVER_DENIED;
	ret->reason = row->reason;
	ret->rule_key = buf_str(&o->key);
	ret->unprotect = row->name;
}

void observe_take_noted(struct observe *o, struct observe *before)
{
	buf_add(&o->noted, before->noted.p, before->noted.len);
	o->nnoted += before->nnoted;
}

const char *observe_noted(const struct observe *o)
{
	return buf_str(&o->noted);
}

static const char *below_cwd(const struct observe *o, const char *path)
{
	const char *cwd = o->view->policy->cwd;

	return path_is_below(cwd, path) ? path + strlen(cwd) + 1 : path;
}

/* Once each, and not too many. Takes @text over. */
static void note(struct observe *o, char *text)
{
	if (!strstr(buf_str(&o->noted), text) && o->nnoted < OBSERVE_NOTED_MAX) {
		o->nnoted++;
		buf_addf(&o->noted, "%s%s", o->noted.len ? ", " : "", text);
	}
	free(text);
}

/* It may be written, and is named in the end with what will run it */
static void note_name(struct observe *o, const char *path)
{
	auto_free char *root = protect_may_match(path) ?
		view_root_of(o->view, path) : NULL;
	const struct protect_row *row = root && path_is_below(root, path) ?
		protect_noted(o->view->policy, path + strlen(root)) : NULL;

	if (!row || is_exempt(o, root, path))
		return;
	note(o, mem_printf("%s (%s)", below_cwd(o, path), row->reason));
}

/* Allowed by the lists: is it a name that nobody may make? */
static void check_names(struct observe *o, const char *path,
			struct observer_verdict *ret)
{
	const struct protect_row *row;
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
	ret->look = exempt || leads(o, path) || protect_is_head(path);
	if (ret->look && is_pointer(o, path)) {
		ret->answer = OBSERVER_DENIED;
		ret->reason = "points git at a repository";
		return;
	}
	if (row) {
		deny_row(o, row, ret);
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

static bool may_write(const struct observe *o, const char *path)
{
	return view_verdict(o->view, VIEW_WRITE, path).allowed;
}

static bool may_write_above(const struct observe *o, const char *path)
{
	auto_free char *parent = path_parent(path);

	return may_write(o, parent);
}

/* In a root that an edit granted after the sandbox was built, or that did not
 * exist then; or that edits took back and granted again, while its mount has
 * stayed read-only; or, in the landlock tier, in a directory where Landlock cannot
 * allow what the policy does
 */
static bool is_late(void *arg, const char *path, bool read_only)
{
	const struct observe *o = arg;

	if (view_is_unmade(o->initial, path))
		return may_write(o, path);
	if (o->plan->tier != TIER_FULL)
		return may_write(o, path) && may_write_above(o, path) &&
		       !grants_cover(o->plan, path);
	return o->view != o->initial && may_write(o, path) &&
	       ((read_only && !o->plan->ephemeral) ||
		!view_verdict(o->initial, VIEW_WRITE, path).allowed);
}

/* Writable when the sandbox was built, and its mount may be still */
static bool is_revoked(const struct observe *o, const char *path)
{
	return o->view != o->initial &&
	       view_verdict(o->initial, VIEW_WRITE, path).allowed;
}

static void on_verdict(void *arg, enum observer_op op, const char *path,
		       struct observer_verdict *ret)
{
	struct observe *o = arg;
	struct verdict v = view_verdict(o->view, op == OBSERVER_READ ?
					VIEW_READ : VIEW_WRITE, path);

	/* What we make is made on the host, whatever was promised */
	if (op == OBSERVER_WRITE && v.allowed && o->plan->ephemeral &&
	    is_late(o, path, false))
		v = (struct verdict){ false, NULL, "not writable when the run began, so --ephemeral cannot keep it aside", true };
	/* Not the host's file of that name, which is hidden: the sandbox's */
	if (op == OBSERVER_READ && !v.allowed)
		v.allowed = view_place(o->view, path) == VIEW_PRIVATE;
	*ret = (struct observer_verdict){
		.answer = v.allowed ? OBSERVER_ALLOWED :
			  v.rule || is_revoked(o, path) ? OBSERVER_DENIED
							: OBSERVER_OUTSIDE,
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
	    protect_row_of(v.rule))
		ret->unprotect = protect_row_of(v.rule)->name;
	if (!v.allowed && !v.rule)
		ret->rule_key = "sandbox.filesystem.allowWrite";
	if (v.allowed && op == OBSERVER_WRITE)
		check_names(o, path, ret);
}

/* What was made in this run is found by its birth, wherever it is moved to; what
 * is older is not, nor is what a link leads to
 */
static void on_place(void *arg, const char *what, const char *path,
		     struct observer_verdict *ret)
{
	struct observe *o = arg;
	auto_free char *root = view_root_of(o->view, path);
	auto_free char *at = what ? upper_place(o->plan, o->store, what) : NULL;
	const struct path_rule *rule;
	struct stat st = { 0 };
	const bool dir = at && lstat(at, &st) == 0 && S_ISDIR(st.st_mode);

	*ret = (struct observer_verdict){ .answer = OBSERVER_ALLOWED };
	if (!root || view_is_private(o->view, path))
		return;
	rule = dir ? moved_lifts(o->view, what, at, path) : NULL;
	if (rule) {
		ret->answer = OBSERVER_DENIED;
		ret->reason = "a rule denies something in it";
		set_rule(o, rule, ret);
		return;
	}
	if (!leads(o, path) && (!what || !leads(o, what)))
		return;
	ret->look = true;
	if ((dir && birth_is_after(at, &o->since)) ||
	    is_exempt(o, root, path))
		return;
	ret->answer = OBSERVER_DENIED;
	ret->reason = "protected names lie in it";
}

/* Without mounts nothing else holds a writable root in its place, or what is
 * above something protected
 */
static bool is_fixed(void *arg, const char *path)
{
	const struct observe *o = arg;

	return o->plan->tier != TIER_FULL &&
	       (grants_carve(o->plan, path) ||
		(may_write(o, path) && !may_write_above(o, path)));
}

/* The settings of a repository of the user's, for which @from is the new text */
static bool is_git_settings(const struct observe *o, const char *from,
			    const char *to)
{
	const size_t n = strlen(to);
	const struct verdict v = view_verdict(o->view, VIEW_WRITE, to);
	const struct protect_row *row = v.rule && !v.allowed ?
		protect_row_of(v.rule) : NULL;

	return row && row->kind == PROTECT_REPO && !strcmp(row->name, "config") &&
	       !strcmp(path_base(to), "config") && !strncmp(from, to, n) &&
	       !strcmp(from + n, ".lock") && protect_in_git(to) &&
	       !o->plan->ephemeral && may_write(o, from);
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
static bool on_replace(void *arg, const char *from, const char *to)
{
	struct observe *o = arg;
	auto_buf struct buf old = { 0 }, new = { 0 }, added = { 0 };
	auto_close int source = -1, target = -1;

	if (!is_git_settings(o, from, to))
		return false;
	source = read_settings(from, O_RDONLY, &new);
	target = source < 0 ? -1 : read_settings(to, O_RDWR, &old);
	if (target < 0 || gitconfig_may_become(&old, &new, &added) < 0 ||
	    lseek(target, 0, SEEK_SET) < 0 ||
	    fs_write_all(target, buf_str(&new), new.len) < 0 ||
	    ftruncate(target, (off_t)new.len) < 0)
		return false;
	(void)unlink(from);
	if (added.len)
		note(o, mem_printf("%s (git uses %s)", below_cwd(o, to),
				   buf_str(&added)));
	return true;
}

static enum mask_part on_mask(void *arg, const char *path)
{
	const struct observe *o = arg;

	return o->plan->talk ? mask_part(o->plan, path) : MASK_NO_PART;
}

static void on_told(void *arg, const struct seccomp_data *call,
		    struct violation *ret)
{
	(void)arg;
	told_fill(call, ret);
}

void observe_policy(struct observe *observe, struct network_run *network,
		    struct observer_policy *ret)
{
	*ret = (struct observer_policy){
		.arg = observe, .verdict = on_verdict, .place = on_place,
		.patterns = observe->view->globs.len > 0,
		.is_plain = is_plain, .is_late = is_late, .is_fixed = is_fixed,
		.replace = on_replace,
		.mask = on_mask, .told = on_told,
	};
	if (network)
		network_questions(network, &ret->network);
}

struct observer_socket *observe_sockets(const struct policy *policy,
					size_t *ret_len)
{
	const struct string_rules *names = &policy->lists[LIST_UNIX_SOCKETS];
	struct observer_socket *sockets =
		mem_zalloc((names->len + 1) * sizeof(*sockets));

	*ret_len = 0;
	for (size_t i = 0; i < names->len; i++) {
		auto_free char *real = NULL;
		auto_close int fd = -1;
		struct stat st;

		if (planted_follow(policy, names->v[i].text, &real) == 0)
			fd = sys_open_nofollow(AT_FDCWD, real, O_PATH, 0);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			sockets[(*ret_len)++] = (struct observer_socket){
				st.st_dev, st.st_ino, birth_of(fd),
				take_ptr(real),
			};
	}
	return sockets;
}
