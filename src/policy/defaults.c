/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/defaults.c - what every policy has, from our own tables
 *
 * Theory of operation: the tables name a directory and a path below it. A row
 * below an XDG directory counts at the place that the environment names and at
 * the default one: a variable set for one session does not uncover the files
 * that all others use.
 *
 * The default profile hides what is known to be secret; profile home shows what is
 * known to be needed. There the home, and the directories where XDG keeps settings
 * and state, become private places (PLACE_PRIVATE, a denial that nothing lifts),
 * and every row that shows something is an allow below them.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"

struct hidden_row {
	enum policy_dir dir;
	const char *path;
	enum path_list list;
	enum rule_strength strength;
	const char *marker, *reason;
};

static const struct hidden_row hidden_rows[] = {
#define HIDE(dir, path, strength, marker, reason)			\
	{ DIR_##dir, path, PATH_DENY_READ, RULE_##strength, marker, reason },
#define SHOW(dir, path, reason)						\
	{ DIR_##dir, path, PATH_ALLOW_READ, RULE_BASELINE, NULL, reason },
#define NAMED(variable, reason)
#include "policy/hidden-paths.def"
#undef HIDE
#undef SHOW
#undef NAMED
};

static const struct { const char *variable, *reason; } named_rows[] = {
#define HIDE(dir, path, strength, marker, reason)
#define SHOW(dir, path, reason)
#define NAMED(variable, reason) { variable, reason },
#include "policy/hidden-paths.def"
#undef HIDE
#undef SHOW
#undef NAMED
};

/* What no command may write, whatever the lists say, existing or not: the files that
 * decide what the next command may do, also of agents' hooks. What has no fixed
 * place is in run/immutable-files.c. DIR_PARENTS: the start directory and every one
 * above it. @srt: the row is in profile srt too.
 */
static const struct frozen_row {
	enum policy_dir dir;
	const char *path;
	bool srt;
	const char *reason;
} frozen_rows[] = {
	{ DIR_ETC, "claude-code/managed-settings.json", true,
	  "managed settings" },
	{ DIR_ETC, "claude-code/managed-settings.d", true, "managed settings" },
	{ DIR_ETC, "cloche", true, "managed policy" },
	{ DIR_CONFIG, "cloche", true, "cloche's own policy" },
	{ DIR_STATE, "cloche", true, "cloche's own state" },
	{ DIR_HOME, ".srt-settings.json", true, "settings of srt" },
	{ DIR_CLAUDE, "settings.json", true, "user settings" },
	{ DIR_CLAUDE, "settings.local.json", true, "user settings" },
	{ DIR_CLAUDE, ".credentials.json", false, "Claude token" },
	{ DIR_CLAUDE, "skills", false, "skills run as instructions" },
	{ DIR_CLAUDE, "agents", false, "agents run as instructions" },
	{ DIR_CLAUDE, "commands", false, "commands run as instructions" },
	{ DIR_CLAUDE, "hooks", true, "hooks run outside the sandbox" },
	{ DIR_HOME, ".claude.json", false,
	  "state of Claude Code: trust decisions" },
	{ DIR_PARENTS, ".claude/settings.json", true, "project settings" },
	{ DIR_PARENTS, ".claude/settings.local.json", true, "local settings" },
	{ DIR_PARENTS, ".claude/skills", false, "skills run as instructions" },
	{ DIR_PARENTS, ".claude/agents", false, "agents run as instructions" },
	{ DIR_PARENTS, ".claude/commands", false,
	  "commands run as instructions" },
	{ DIR_PARENTS, ".claude/hooks", true, "hooks run outside the sandbox" },
	{ DIR_PARENTS, ".mcp.json", false,
	  "MCP servers run outside the sandbox" },
	{ DIR_PARENTS, ".cloche.json", true, "project policy" },
};

enum home_kind {
	HOME_PRIVATE, HOME_LAYER, HOME_CACHE, HOME_SHOW, HOME_FORGE, HOME_BIN,
	HOME_COVER, HOME_HIDE, HOME_KINDS,
};

struct home_row {
	enum home_kind kind;
	enum policy_dir dir;
	const char *path, *reason;
};

static const struct home_row home_rows[] = {
#define HOME_ROW(kind, dir, path, reason) \
	{ HOME_##kind, DIR_##dir, path, reason },
#include "policy/home.def"
#undef HOME_ROW
};

static const struct {
	enum path_list list;
	enum rule_strength strength;
	enum rule_place place;
} home_kinds[HOME_KINDS] = {
	[HOME_PRIVATE] = { PATH_DENY_READ, RULE_ALWAYS, PLACE_PRIVATE },
	[HOME_LAYER] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_LAYER },
	[HOME_CACHE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_CACHE },
	[HOME_SHOW] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST },
	[HOME_FORGE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST },
	[HOME_BIN] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_BIN },
	[HOME_COVER] = { PATH_DENY_READ, RULE_BASELINE, PLACE_COVER },
	[HOME_HIDE] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST },
};

/* Paths that srt lets every command write */
static const char *const srt_writable[] = {
	"/tmp/claude", "/private/tmp/claude", "~/.npm/_logs",
	"~/.claude/debug",
};

/* The path has a rule of the user's already: it is still of the kind that the row says */
static void mark_place(struct path_rules *rules, const char *path,
		       const struct path_rule *row)
{
	for (size_t i = 0; i < rules->len; i++) {
		struct path_rule *rule = &rules->v[i];

		if (rule->glob || strcmp(rule->path, path) != 0)
			continue;
		if (row->place != PLACE_HOST)
			rule->place = row->place;
		rule->obeyed |= row->obeyed;
		if (rule->strength < row->strength)
			rule->strength = row->strength;
	}
}

/* @row says how; its path is below @dir */
static void add_row(struct policy *p, const struct source *source,
		    enum path_list list, const char *dir,
		    const struct path_rule *row, const char *reason)
{
	auto_free char *path = *row->path ? path_join(dir, row->path)
					  : mem_strdup(dir);
	struct path_rule *rule = policy_take_literal(p, list, mem_strdup(path),
		row->strength, origin_make(source, NULL, reason));

	if (rule) {
		rule->marker = row->marker;
		rule->place = row->place;
		rule->obeyed = row->obeyed;
	} else if (row->place != PLACE_HOST || row->obeyed) {
		mark_place(&p->paths[list], path, row);
	}
}

/* The default place of @dir, if it was moved from there */
static char *moved_from(const struct policy *p, enum policy_dir dir)
{
	const char *below = dir == DIR_HOME ? NULL : policy_dir_below_home(dir);
	const size_t n = p->home ? strlen(p->home) : 0;
	const char *at = p->dirs[dir];

	if (!below || !p->home ||
	    (at && !strncmp(at, p->home, n) && at[n] == '/' &&
	     !strcmp(at + n + 1, below)))
		return NULL;
	return path_join(p->home, below);
}

/* $HOME may be anything; the home that programs find by the password database is
 * the user's all the same
 */
static void add_in_account(struct policy *p, const struct source *source,
			   enum policy_dir dir, enum path_list list,
			   const struct path_rule *row, const char *reason)
{
	const char *below = policy_dir_below_home(dir);
	auto_free char *at = p->account_home && below ?
			     path_resolve(p->account_home, below) : NULL;

	if (at && row->place == PLACE_HOST &&
	    (!p->home || strcmp(p->home, p->account_home) != 0))
		add_row(p, source, list, at, row, reason);
}

static void add_default(struct policy *p, const struct source *source,
		  enum policy_dir dir, enum path_list list,
		  const struct path_rule *row, const char *reason)
{
	auto_free char *usual = moved_from(p, dir);

	if (p->dirs[dir])
		add_row(p, source, list, p->dirs[dir], row, reason);
	if (usual)
		add_row(p, source, list, usual, row, reason);
	add_in_account(p, source, dir, list, row, reason);
}

/* A row of a table, as the rule that it is a part of */
static struct path_rule rule_of(const char *path, enum rule_strength strength,
				const char *marker)
{
	return (struct path_rule){
		.path = (char *)(uintptr_t)path, .strength = strength,
		.marker = marker,
	};
}

static void add_hidden(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"hidden.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(hidden_rows); i++) {
		const struct hidden_row *row = &hidden_rows[i];
		const struct path_rule rule = rule_of(row->path, row->strength,
						      row->marker);

		if (p->profile == PROFILE_SRT && row->strength != RULE_ALWAYS)
			continue;
		/* What this profile shows has a row in home.def */
		if (p->profile == PROFILE_HOME && row->list == PATH_ALLOW_READ)
			continue;
		add_default(p, source, row->dir, row->list, &rule,
			     row->reason);
	}
}

/* A path that holds the project would hide that as well */
static void add_named(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"hidden.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(named_rows); i++) {
		const char *value = p->variable(named_rows[i].variable);
		auto_free char *list = value ? mem_strdup(value) : NULL;
		char *save = NULL;

		for (char *path = list ? strtok_r(list, ":", &save) : NULL;
		     path; path = strtok_r(NULL, ":", &save)) {
			auto_free char *clean = path_resolve(p->cwd, path);

			if (!path_is_within(clean, p->project) &&
			    !policy_holds_home(p, clean))
				policy_add_literal(p, PATH_DENY_READ, clean,
					RULE_BASELINE, origin_make(source, NULL,
					named_rows[i].reason));
		}
	}
}

static void add_in_parents(struct policy *p, const struct source *source,
			   const struct frozen_row *row)
{
	const struct path_rule rule = rule_of(row->path, RULE_ALWAYS, NULL);
	auto_free char *dir = mem_strdup(p->cwd);

	for (;;) {
		char *parent = path_parent(dir);

		add_row(p, source, PATH_DENY_WRITE, dir, &rule, row->reason);
		if (!strcmp(parent, dir)) {
			free(parent);
			return;
		}
		free(dir);
		dir = parent;
	}
}

static void add_frozen(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"always.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(frozen_rows); i++) {
		const struct frozen_row *row = &frozen_rows[i];
		struct path_rule rule = rule_of(row->path, RULE_ALWAYS, NULL);

		rule.obeyed = row->srt;
		if (p->profile == PROFILE_SRT && !row->srt)
			continue;
		if (row->dir == DIR_PARENTS)
			add_in_parents(p, source, row);
		else
			add_default(p, source, row->dir, PATH_DENY_WRITE,
				     &rule, row->reason);
	}
}

static void add_home(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"home.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(home_rows); i++) {
		const struct home_row *row = &home_rows[i];
		struct path_rule rule = rule_of(row->path,
			home_kinds[row->kind].strength, NULL);

		if (row->kind == HOME_FORGE &&
		    policy_flag(p, FLAG_NO_FORGE, false))
			continue;
		rule.place = home_kinds[row->kind].place;
		add_default(p, source, row->dir, home_kinds[row->kind].list,
			     &rule, row->reason);
	}
}

/* True if a rule hides @path, which is below the home, or a directory above it */
static bool is_hidden_below_home(const struct policy *p, const char *path)
{
	const struct path_rules *hidden = &p->paths[PATH_DENY_READ];
	auto_free char *full = path_join(p->home, path);

	for (size_t i = 0; i < hidden->len; i++) {
		if (!hidden->v[i].glob && path_is_within(hidden->v[i].path,
							 full))
			return true;
	}
	return false;
}

static void add_srt_writable(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"profile srt", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(srt_writable); i++) {
		if (*srt_writable[i] == '~' &&
		    (!p->home || is_hidden_below_home(p, srt_writable[i] + 2)))
			continue;
		(void)policy_add_path(p, PATH_ALLOW_WRITE, srt_writable[i],
			RULE_BASELINE,
			origin_make(source, NULL, "writable as in srt"), NULL);
	}
}

int policy_finish(struct policy *p, struct err *err)
{
	const struct source *profile;

	if (p->finished)
		return fail(err, -EALREADY, "the policy is finished already");
	p->finished = true;
	/* Without file rules these remain: they decide what the next run may */
	add_frozen(p);
	if (policy_flag(p, FLAG_FS_DISABLED, false))
		return 0;

	profile = policy_add_source(p, SCOPE_BUILTIN, "profile", NULL, 0,
				    p->project);
	if (p->profile == PROFILE_SRT)
		add_srt_writable(p);
	else if (policy_has_project(p))
		policy_add_literal(p, PATH_ALLOW_WRITE, p->project,
			RULE_BASELINE, origin_make(profile, NULL,
			!strcmp(p->project, p->cwd) ? "the start directory"
			: "the git work tree around the start directory"));
	if (p->profile == PROFILE_HOME)
		add_home(p);
	add_hidden(p);
	if (p->variable && p->profile != PROFILE_SRT)
		add_named(p);
	return 0;
}
