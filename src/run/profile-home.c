/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/profile-home.c - profile home: the checks, the command's program, ~/.gitconfig
 *
 * The user's own git settings are not shown: they may name programs to run, hold
 * tokens, and include other files. Only listed keys (policy/gitconfig.c) go in,
 * written anew; includes are not followed, and a file that git would not read
 * gives nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/exec-error.h"
#include "view/view.h"

enum { VALUE_MAX = 1024 };	/* Bytes of one setting */

static bool is_printable(const char *value)
{
	const size_t n = strlen(value);

	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	}
	return n <= VALUE_MAX;
}

static void add_setting(struct buf *out, const char *section,
			const char *name, const char *value)
{
	buf_addf(out, "[%s]\n\t%s = \"", section, name);
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *p);
	}
	buf_adds(out, "\"\n");
}

static void take_setting(void *arg, const char *key, const char *value)
{
	const char *dot = strchr(key, '.');
	auto_buf struct buf section = { 0 };

	if (!dot || !gitconfig_is_for_home(key, value) || !is_printable(value))
		return;
	buf_add(&section, key, (size_t)(dot - key));
	add_setting(arg, buf_str(&section), dot + 1, value);
}

static void take_file(const char *path, struct buf *out)
{
	auto_buf struct buf text = { 0 }, taken = { 0 };

	if (fs_read(AT_FDCWD, path, GITCONFIG_MAX, &text, NULL) < 0 ||
	    gitconfig_each(buf_str(&text), text.len, take_setting, &taken) < 0)
		return;
	buf_add(out, buf_str(&taken), taken.len);
}

/* Pushing is what the forges' credentials are shown for */
static void add_helpers(const struct policy *policy, struct buf *out)
{
	if (policy_flag(policy, FLAG_NO_FORGE, false))
		return;
	add_setting(out, "credential \"https://github.com\"", "helper",
		    "!gh auth git-credential");
	add_setting(out, "credential \"https://gitlab.com\"", "helper",
		    "!glab auth git-credential");
}

char *profile_home_gitconfig(const struct policy *policy)
{
	auto_free char *xdg = path_join(policy->dirs[DIR_CONFIG], "git/config");
	auto_free char *own = path_join(policy->home, ".gitconfig");
	const struct list_rules *trusted = &policy->lists[LIST_GIT_SAFE];
	auto_buf struct buf out = { 0 };

	buf_adds(&out, "# Made by cloche for this run, from the safe part of yours\n");
	take_file(xdg, &out);
	take_file(own, &out);
	add_setting(&out, "safe", "bareRepository", "explicit");
	for (size_t i = 0; i < trusted->len; i++) {
		if (is_printable(trusted->v[i].text))
			add_setting(&out, "safe", "directory",
				    trusted->v[i].text);
	}
	add_helpers(policy, &out);
	return buf_take(&out);
}

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

int profile_home_check(const struct policy *policy, struct err *err)
{
	const char *set = getenv("HOME");
	const char *home = policy->home;
	int r;

	if (policy->profile != PROFILE_HOME)
		return 0;
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

/* Hidden by the profile only, and not by a rule of the settings */
static bool is_ours_to_show(const struct view *view, const char *path)
{
	const struct verdict v = view_verdict(view, VIEW_READ, path);

	return !v.allowed && (v.rule->strength == RULE_BASELINE ||
			      v.rule->place == PLACE_PRIVATE);
}

void profile_home_show_command(struct view *view, const char *name, const char *path)
{
	auto_free char *found = exec_error_find(name, path,
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

void profile_home_show_link(struct view *view)
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
