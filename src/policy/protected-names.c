/* SPDX-License-Identifier: Apache-2.0 */
/* policy/protected-names.c - names that no command may write, in any writable place */

#include "policy/protected-names.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

enum { PROTECTED_NAME_MAX = 64 };		/* Of the longest row */

static const struct protected_row rows[] = {
#define PROTECT(kind, name, srt, reason) { PROTECTED_##kind, name, srt, reason },
#include "policy/protected-names.def"
#undef PROTECT
};

const struct protected_row *protected_table(size_t *ret_len)
{
	*ret_len = ARRAY_SIZE(rows);
	return rows;
}

/* Rules of ours for such names have them as their key */
const struct protected_row *protected_row_of(const struct path_rule *rule)
{
	const struct source *source = rule->origin.source;

	if (!rule->origin.key || (source && source->scope != SCOPE_BUILTIN))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(rows[i].name, rule->origin.key) &&
		    rows[i].kind != PROTECTED_SENTINEL)
			return &rows[i];
	}
	return NULL;
}

static bool is_git_config(const struct protected_row *row)
{
	const size_t n = strlen(row->name);

	return row->kind == PROTECTED_REPO && n >= 6 &&
	       !strcmp(row->name + n - 6, "config");
}

bool protected_applies(const struct policy *policy,
		     const struct protected_row *row)
{
	if (policy_flag(policy, FLAG_FS_DISABLED, false))
		return false;
	if (policy->profile == PROFILE_SRT && !row->srt)
		return false;
	if (is_git_config(row) &&
	    policy_flag(policy, FLAG_ALLOW_GIT_CONFIG, false))
		return false;
	return !policy_has_string(policy, LIST_UNPROTECT, row->name);
}

/* Length of the match of @name at @path, both at the start of a component:
 * whole components, "*" is any one. 0 if it does not match.
 */
static size_t match_here(const char *name, const char *path)
{
	const char *p = path;

	/* Asked for every row and component of every file that is made: most
	 * differ in their first letter, or in the one after the dot
	 */
	if (*name != '*' && ((*name | 0x20) != (*p | 0x20) ||
			     (*p && (name[1] | 0x20) != (p[1] | 0x20))))
		return 0;
	for (;;) {
		const size_t want = strcspn(name, "/");
		const size_t have = strcspn(p, "/");
		const size_t tail = *name == '*' ? want - 1 : want;

		/* "*" is all that comes before what follows it */
		if (*name == '*' ? have <= tail : have != want)
			return 0;
		if (strncasecmp(name + want - tail, p + have - tail, tail) != 0)
			return 0;
		name += want;
		p += have;
		if (!*name)
			return (size_t)(p - path);
		if (!*p)
			return 0;
		name++;
		p++;
	}
}

const char *protected_rest(const struct protected_row *row, const char *name)
{
	const size_t want = strcspn(row->name, "/"), have = strlen(name);
	const size_t tail = *row->name == '*' ? want - 1 : want;

	return (*row->name == '*' ? have > tail : have == want) &&
	       !strncasecmp(row->name + want - tail, name + have - tail, tail) ?
	       row->name + want : NULL;
}

static bool row_covers(const struct protected_row *row, const char *path)
{
	const size_t n = match_here(row->name, path);

	/* A "file" row also covers what lies below a directory of that name:
	 * a command may mkdir it to be there first.
	 */
	return n && (!path[n] || path[n] == '/');
}

static const struct protected_row *find_name(const struct policy *policy,
					   const char *path, bool noted)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (rows[i].kind > PROTECTED_NOTED ||
			    (rows[i].kind == PROTECTED_NOTED) != noted ||
			    !row_covers(&rows[i], at))
				continue;
			if (protected_applies(policy, &rows[i]))
				return &rows[i];
		}
	}
	return NULL;
}

const struct protected_row *protected_match(const struct policy *policy,
					const char *path)
{
	return find_name(policy, path, false);
}

const struct protected_row *protected_noted(const struct policy *policy,
					const char *path)
{
	return find_name(policy, path, true);
}

bool protected_may_match(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (*at == '.' && strncasecmp(at, ".git/", 5) != 0)
			return true;
		for (size_t i = 0; rows[i].name[0] != '.'; i++) {
			if (row_covers(&rows[i], at))
				return true;
		}
	}
	return false;
}

const char *protected_in_git(const char *path)
{
	static const char git[] = "/.git/";
	const char *at = strcasestr(path, git);

	return at ? at + sizeof(git) - 1 : NULL;
}

/* True if @path, at the start of a component, is the beginning of @row's name */
static bool leads_to(const struct policy *policy,
		     const struct protected_row *row, const char *path)
{
	for (const char *end = strchr(row->name, '/'); end;
	     end = strchr(end + 1, '/')) {
		char above[PROTECTED_NAME_MAX];
		const size_t n = (size_t)(end - row->name);

		if (n >= sizeof(above))
			return true;
		memcpy(above, row->name, n);
		above[n] = '\0';
		if (match_here(above, path) == strlen(path))
			return protected_applies(policy, row);
	}
	return false;
}

bool protected_has_modules(const struct policy *policy)
{
	return policy->profile != PROFILE_SRT &&
	       !policy_flag(policy, FLAG_FS_DISABLED, false);
}

bool protected_is_git_data(const char *name)
{
	return text_matches("objects refs logs", name, strcspn(name, "/"));
}

bool protected_is_head(const char *path)
{
	const size_t n = strlen(path);

	return n > 5 && !strcasecmp(path + n - 5, "/HEAD") &&
	       !protected_in_git(path);
}

bool protected_is_repo_name(const char *path)
{
	static const char *const ends[] = {
		"/config", "/config.worktree", "/commondir", "/info/attributes",
	};
	const size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const size_t m = strlen(ends[i]);

		if (n >= m && !strcasecmp(path + n - m, ends[i]))
			return true;
	}
	return strcasestr(path, "/hooks");
}

/* What follows the component at @at, or NULL */
static const char *next_part(const char *at)
{
	const char *slash = strchr(at, '/');

	return slash && slash > at && slash[1] ? slash + 1 : NULL;
}

/* A submodule's git directory has its name, which may have slashes: what follows
 * the component at @at may be in it. NULL if nothing does.
 */
static const char *next_module(const char *at)
{
	return protected_is_git_data(at) ? NULL : next_part(at);
}

/* What follows a submodule's name in @relative, a path below a git directory */
static const char *in_modules(const char *relative)
{
	static const char modules[] = "modules/";
	const size_t n = sizeof(modules) - 1;

	/* Where submodules are is no data: "objects" is one there */
	return !strncasecmp(relative, modules, n) && relative[n] ?
	       next_part(relative + n) : NULL;
}

/* True if @relative is where submodules are, or one of them, or in one */
static bool is_module(const char *relative)
{
	if (strncasecmp(relative, "modules", 7) != 0 ||
	    (relative[7] && relative[7] != '/'))
		return false;
	for (const char *at = in_modules(relative); at; at = next_part(at)) {
		if (protected_is_git_data(at))
			return false;
	}
	return true;
}

bool protected_is_module(const char *relative)
{
	return !strncasecmp(relative, "modules/", 8) && is_module(relative);
}

static bool any_leads(const struct policy *policy, const char *path, bool repo)
{
	for (size_t i = 0; *path && i < ARRAY_SIZE(rows); i++) {
		const bool in_repo = rows[i].kind == PROTECTED_REPO ||
				     rows[i].kind == PROTECTED_KEPT;

		if (rows[i].kind != PROTECTED_SENTINEL &&
		    rows[i].kind != PROTECTED_NOTED && in_repo == repo &&
		    leads_to(policy, &rows[i], path))
			return true;
	}
	return false;
}

bool protected_leads_repo(const struct policy *policy, const char *relative)
{
	return (protected_has_modules(policy) && is_module(relative)) ||
	       any_leads(policy, relative, true);
}

bool protected_leads(const struct policy *policy, const char *path)
{
	const char *base = strrchr(path, '/');

	if (base && !strcasecmp(base, "/.git"))
		return !policy_flag(policy, FLAG_FS_DISABLED, false);
	for (const char *at = path; at; at = strstr(at, "/.")) {
		at += *at == '/';
		if (any_leads(policy, at, false))
			return true;
	}
	for (const char *in = protected_in_git(path); in;
	     in = protected_in_git(in - 1)) {
		if (protected_leads_repo(policy, in))
			return true;
	}
	return false;
}

static const struct protected_row *match_rows(const struct policy *policy,
					    const char *relative)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].kind == PROTECTED_REPO &&
		    row_covers(&rows[i], relative) &&
		    protected_applies(policy, &rows[i]))
			return &rows[i];
	}
	return NULL;
}

/* The first part of @relative behind a submodule's name that has a row, or NULL */
static const char *match_module(const struct policy *policy, const char *relative)
{
	const char *at = protected_has_modules(policy) ? in_modules(relative) : NULL;

	while (at && !match_rows(policy, at))
		at = next_module(at);
	return at;
}

const struct protected_row *protected_match_repo(const struct policy *policy,
					     const char *relative)
{
	const struct protected_row *row = match_rows(policy, relative);
	const char *at = row ? NULL : match_module(policy, relative);

	return at ? match_rows(policy, at) : row;
}

size_t protected_module_len(const struct policy *policy, const char *relative)
{
	const char *at = match_rows(policy, relative) ? NULL :
			 match_module(policy, relative);

	return at ? (size_t)(at - relative) - 1 : 0;
}
