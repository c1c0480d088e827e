/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/settle.c - rules that turn out to be none, once all are in the view
 *
 * Nothing lifts what hides our own stores: rules for what is in them go.
 *
 * A path that may be written and does not exist cannot be mounted. If it lies
 * in a directory of the host's that the command sees, it stays, with mode 0:
 * the observer makes it for the command, which asks for exactly that. In an
 * existing writable directory such a rule says nothing new, and in a place
 * that is hidden or the sandbox's own there is nothing to make.
 *
 * Nothing in /proc and /sys is a file that a command could need to write.
 *
 * Rules about hosts are none where the network is not filtered by name.
 */

#include "plan/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/planted.h"
#include "plan/view.h"

static bool is_allow(const struct view_rule *r)
{
	return r->list == PATH_ALLOW_READ || r->list == PATH_ALLOW_WRITE;
}

static void drop(struct view_rule *r)
{
	r->list = PATH_LISTS;
}

static void close_store(struct view *view, const char *store)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		struct view_rule *r = &view->rules.v[i];

		if (!is_allow(r) || !r->rule->origin.source ||
		    !path_is_below(store, r->path))
			continue;
		if (r->rule->strength != RULE_BASELINE)
			view_note(view, mem_printf("'%s' is in a directory of cloche's own, which stays hidden",
						   r->rule->text));
		drop(r);
	}
}

/* The kernel's own switches obey root without asking for a capability */
static void close_kernel(struct view *view, const char *place)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		struct view_rule *r = &view->rules.v[i];

		if (r->list != PATH_ALLOW_WRITE ||
		    !path_is_within(place, r->path))
			continue;
		view_note(view, mem_printf("'%s' is in %s, which holds no files but the kernel's switches, so nothing may be written there",
					   r->path, place));
		drop(r);
	}
}

/**
 * struct roots - What exists and may be written
 */
struct roots {
	const char **v;
	size_t len, cap;
};

static bool is_in_root(const struct roots *roots, const char *path)
{
	size_t i = 0;

	while (i < roots->len && !path_is_within(roots->v[i], path))
		i++;
	return i < roots->len;
}

/* No link on the way to it is one that a command could have made */
static bool is_straight(const struct view *view, const struct view_rule *r)
{
	auto_free char *end = NULL;

	return !strcmp(r->rule->path, r->path) ||
	       (planted_follow(view->policy, r->rule->path, &end) == 0 &&
		!strcmp(end, r->path));
}

static bool may_be_made(const struct view *view, const struct view_rule *r)
{
	auto_free char *parent = path_parent(r->path);
	const struct verdict readable = view_verdict(view, VIEW_READ, parent);

	return view->policy->profile != PROFILE_SRT && readable.allowed &&
	       view_place_of(view, parent, &readable) == VIEW_HOST &&
	       is_straight(view, r);
}

static void settle_unmade(struct view *view, const struct roots *roots,
			  struct view_rule *r)
{
	if (is_in_root(roots, r->path)) {
		drop(r);
	} else if (may_be_made(view, r)) {
		view_note(view, mem_printf("'%s' does not exist yet",
					   r->rule->text));
		view->notes.v[view->notes.len - 1].unmade = true;
	} else {
		view_note(view, mem_printf("'%s' does not exist, so nothing is allowed there",
					   r->rule->text));
		drop(r);
	}
}

static bool is_written_below(const struct view *view, const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE &&
		    (path_is_within(path, r->path) ||
		     path_is_within(r->path, path)))
			return true;
	}
	return false;
}

/* A terminal opens in $HOME, and a container's command starts in / */
static void note_no_project(struct view *view)
{
	const struct policy *p = view->policy;
	const bool is_home = p->home && !strcmp(p->cwd, p->home);

	if (p->profile != PROFILE_SRT && !policy_has_project(p) &&
	    !policy_flag(p, FLAG_FS_DISABLED, false) &&
	    !is_written_below(view, p->cwd))
		view_note(view, mem_printf("nothing in '%s' is writable, because it %s; start in a project, or use --write DIR",
					   p->cwd, is_home ? "is the home directory" :
					   !strcmp(p->cwd, "/") ? "is the root directory" :
					   "holds the home directory"));
}

static void note_made(struct view *view)
{
	const struct policy *p = view->policy;

	if (p->made_top && strcmp(p->made_top, p->cwd) != 0)
		view_note(view, mem_printf("the repository '%s' was made by a sandboxed command, so only '%s' is writable; start in '%s' once to use it as the project",
					   p->made_top, p->cwd, p->made_top));
}

/* A list of hosts that nobody looks at must not be mistaken for a limit */
static void note_hosts(struct view *view)
{
	const struct policy *p = view->policy;
	const size_t n = p->hosts[HOST_ALLOW].len + p->hosts[HOST_DENY].len;

	if (!n || (p->net != NET_HOST && p->net != NET_JAIL))
		return;
	view_note(view, mem_printf("--net %s does not look at names: %zu rule%s about hosts %s no effect%s",
				   net_mode_name(p->net), n, n == 1 ? "" : "s",
				   n == 1 ? "has" : "have",
				   p->net == NET_JAIL ? "; --net jail,filtered obeys both" : ""));
}

void settle(struct view *view)
{
	struct view_rules *r = &view->rules;
	struct roots roots = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < r->len; i++) {
		if (view_is_store(&r->v[i]))
			close_store(view, r->v[i].path);
	}
	close_kernel(view, "/proc");
	close_kernel(view, "/sys");
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_ALLOW_WRITE && r->v[i].mode)
			*vec_push(&roots) = r->v[i].path;
	}
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_ALLOW_WRITE && !r->v[i].mode)
			settle_unmade(view, &roots, &r->v[i]);
	}
	free(roots.v);
	for (size_t i = 0; i < r->len; i++) {
		if (r->v[i].list == PATH_LISTS)
			free(r->v[i].path);
		else
			r->v[kept++] = r->v[i];
	}
	r->len = kept;
	note_no_project(view);
	note_made(view);
	note_hosts(view);
}
