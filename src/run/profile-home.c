/* SPDX-License-Identifier: Apache-2.0 */
/* lib/home.c - profile home: is there a home to hide, and what shall run in it */

#include "lib/home.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/startable.h"
#include "plan/view.h"
#include "policy/policy.h"

static int check_directory(const char *home, struct err *err)
{
	struct stat st;

	if (lstat(home, &st) < 0)
		return fail_errno(err, "profile home: $HOME '%s'", home);
	if (!S_ISDIR(st.st_mode))
		return fail(err, -ENOTDIR, "profile home: $HOME '%s' is not a directory",
			    home);
	if (st.st_uid != geteuid())
		return fail(err, -EPERM, "profile home: $HOME '%s' belongs to another user; set HOME to your own",
			    home);
	return 0;
}

/* The directories of XDG become places of their own: none may be a part of the
 * way to another
 */
static int check_xdg(const struct policy *policy, struct err *err)
{
	static const enum policy_dir dirs[] = {
		DIR_CONFIG, DIR_STATE, DIR_CACHE, DIR_DATA,
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const char *dir = policy->dirs[dirs[i]];

		if (dir && (path_is_within(dir, policy->home) ||
			    path_is_within(dir, policy->cwd)))
			return fail(err, -EINVAL, "profile home: '%s' is one of the XDG directories and holds the home or the project; unset that XDG variable",
				    dir);
	}
	return 0;
}

/* An allow of the home itself would be dropped without a word */
static int check_rules(const struct policy *policy, struct err *err)
{
	static const enum path_list lists[] = {
		PATH_ALLOW_READ, PATH_ALLOW_WRITE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct path_rules *rules = &policy->paths[lists[i]];

		for (size_t j = 0; j < rules->len; j++) {
			if (!rules->v[j].glob &&
			    !strcmp(rules->v[j].path, policy->home))
				return fail(err, -EINVAL, "profile home hides '%s', and '%s' would show all of it; name what is needed below it",
					    policy->home, rules->v[j].text);
		}
	}
	return 0;
}

int home_check(const struct policy *policy, struct err *err)
{
	const char *set = getenv("HOME");
	const char *home = policy->home;
	int r;

	if (!set || *set != '/' || !home)
		return fail(err, -EINVAL, "profile home: HOME is %s; set it to your home directory",
			    !set ? "not set" : "not an absolute path");
	if (!strcmp(home, "/"))
		return fail(err, -EINVAL, "profile home: HOME is /, which cannot be hidden; set it to your home directory");
	r = check_directory(home, err);
	if (r < 0)
		return r;
	if (!strcmp(home, policy->cwd))
		return fail(err, -EINVAL, "profile home: the project is $HOME itself, '%s'; start in a directory below it, or use --cwd",
			    home);
	r = check_rules(policy, err);
	return r < 0 ? r : check_xdg(policy, err);
}

/* Hidden by the profile only, and not by somebody's rule */
static bool is_ours_to_show(const struct view *view, const char *path)
{
	const struct verdict v = view_verdict(view, VIEW_READ, path);

	return !v.allowed && (v.rule->strength == RULE_BASELINE ||
			      v.rule->place == PLACE_PRIVATE);
}

void home_show_command(struct view *view, const char *name, const char *path)
{
	auto_free char *found = startable_find(name, path,
					       view->policy->cwd);
	auto_free char *real = found ? realpath(found, NULL) : NULL;
	struct stat st;

	if (!real)
		return;
	if (lstat(found, &st) == 0 && S_ISLNK(st.st_mode))
		view_add_link(view, found);
	if (!is_ours_to_show(view, real))
		return;
	view_add(view, PATH_ALLOW_READ, real,
		 view_own_rule(view, real, name, "the command itself"), false);
	view_sort(view);
}

void home_show_link(struct view *view)
{
	const char *home = getenv("HOME");
	auto_free char *named = home ? path_resolve("/", home) : NULL;
	auto_free char *parent = named ? path_parent(named) : NULL;
	auto_free char *dir = parent ? realpath(parent, NULL) : NULL;
	auto_free char *link = dir ? path_join(dir, path_base(named)) : NULL;
	const size_t before = view->links.len;

	if (!link || !strcmp(link, view->policy->home))
		return;
	view_add_link(view, link);
	if (view->links.len > before)
		view->links.v[before].home = true;
}
