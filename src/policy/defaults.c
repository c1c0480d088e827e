/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/defaults.c - what every policy has, from our own tables
 *
 * Theory of operation: each row has a directory and a path below it. A row below
 * an XDG directory applies to the directory in the environment and to the default
 * one: a variable that is set for one session must not expose the files that all
 * other sessions use.
 *
 * The default profile hides known secrets; profile home shows known needs only.
 * There the home and the XDG directories of settings and state are empty private
 * directories (PLACE_PRIVATE, a denial that nothing lifts), and each path that is
 * shown is an allow rule below them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"

enum {
	IN_DEFAULT = 1 << PROFILE_DEFAULT,
	IN_HOME = 1 << PROFILE_HOME,
	IN_SRT = 1 << PROFILE_SRT,
	IN_ALL = IN_DEFAULT | IN_HOME | IN_SRT,
};

enum row_kind {
	ROW_FROZEN, ROW_OBEYED,
	ROW_PRIVATE, ROW_LAYER, ROW_CACHE, ROW_SHOW, ROW_FORGE, ROW_BIN, ROW_EMPTY,
	ROW_COVER,
	ROW_HIDE,
	ROW_ALWAYS, ROW_BASELINE, ROW_OWN, ROW_EVERY_PROFILE, ROW_ROOTS, ROW_SHOWN,
};

/* What becomes of a row's path, and in which profiles */
static const struct {
	enum path_list list;
	enum rule_strength strength;
	enum rule_place place;
	unsigned int profiles;
} kinds[] = {
	[ROW_FROZEN] = { PATH_DENY_WRITE, RULE_ALWAYS, PLACE_HOST, IN_DEFAULT | IN_HOME },
	[ROW_OBEYED] = { PATH_DENY_WRITE, RULE_ALWAYS, PLACE_HOST, IN_ALL },
	[ROW_PRIVATE] = { PATH_DENY_READ, RULE_ALWAYS, PLACE_PRIVATE, IN_HOME },
	[ROW_LAYER] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_LAYER, IN_HOME },
	[ROW_CACHE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_CACHE, IN_HOME },
	[ROW_SHOW] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST, IN_HOME },
	[ROW_FORGE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST, IN_HOME },
	[ROW_BIN] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_BIN, IN_HOME },
	[ROW_EMPTY] = { PATH_DENY_READ, RULE_BASELINE, PLACE_PRIVATE, IN_HOME },
	[ROW_COVER] = { PATH_DENY_READ, RULE_BASELINE, PLACE_COVER, IN_HOME },
	[ROW_HIDE] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST, IN_HOME },
	[ROW_ALWAYS] = { PATH_DENY_READ, RULE_ALWAYS, PLACE_HOST, IN_ALL },
	[ROW_BASELINE] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST, IN_DEFAULT | IN_HOME },
	[ROW_OWN] = { PATH_DENY_READ, RULE_BASELINE, PLACE_PRIVATE, IN_DEFAULT | IN_HOME },
	[ROW_EVERY_PROFILE] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST, IN_ALL },
	[ROW_ROOTS] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST, IN_ALL },
	/* What profile home shows has a row in home.def */
	[ROW_SHOWN] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST, IN_DEFAULT },
};

/* FROZEN and OBEYED: no command may write these paths, whatever the lists allow and
 * whether they exist or not: they decide what the next command may do. Files without a
 * fixed place are in run/immutable-files.c. DIR_PARENTS is the start directory and every
 * directory above it.
 */
static const struct row {
	enum row_kind kind;
	enum policy_dir dir;
	const char *path, *marker, *reason, *keys;
} rows[] = {
	{ ROW_OBEYED, DIR_ETC, "claude-code/managed-settings.json", NULL,
	  "managed settings" },
	{ ROW_OBEYED, DIR_ETC, "claude-code/managed-settings.d", NULL,
	  "managed settings" },
	{ ROW_OBEYED, DIR_ETC, "cloche", NULL, "managed policy" },
	{ ROW_OBEYED, DIR_CONFIG, "cloche", NULL, "cloche's own policy" },
	{ ROW_OBEYED, DIR_STATE, "cloche", NULL, "cloche's own state" },
	{ ROW_OBEYED, DIR_HOME, ".srt-settings.json", NULL, "settings of srt" },
	{ ROW_OBEYED, DIR_CLAUDE, "settings.json", NULL, "user settings" },
	{ ROW_OBEYED, DIR_CLAUDE, "settings.local.json", NULL, "user settings" },
	{ ROW_FROZEN, DIR_CLAUDE, "skills", NULL, "skills run as instructions" },
	{ ROW_FROZEN, DIR_CLAUDE, "agents", NULL, "agents run as instructions" },
	{ ROW_FROZEN, DIR_CLAUDE, "commands", NULL, "commands run as instructions" },
	{ ROW_OBEYED, DIR_CLAUDE, "hooks", NULL, "hooks run outside the sandbox" },
#define AGENT_ROW(dir, path) \
	{ ROW_FROZEN, dir, path, NULL, "the agent obeys it at its next start" },
	AGENT_ROW(DIR_CLAUDE, "CLAUDE.md")
	AGENT_ROW(DIR_CLAUDE, "plugins")
	AGENT_ROW(DIR_CLAUDE, "rules")
	AGENT_ROW(DIR_CLAUDE, "output-styles")
	AGENT_ROW(DIR_CLAUDE, "remote-settings.json")
	AGENT_ROW(DIR_HOME, ".codex/config.toml")
	AGENT_ROW(DIR_HOME, ".codex/hooks.json")
	AGENT_ROW(DIR_HOME, ".codex/environments.toml")
	AGENT_ROW(DIR_HOME, ".codex/requirements.toml")
	AGENT_ROW(DIR_HOME, ".codex/managed_config.toml")
	AGENT_ROW(DIR_HOME, ".codex/AGENTS.md")
	AGENT_ROW(DIR_HOME, ".codex/AGENTS.override.md")
	AGENT_ROW(DIR_HOME, ".codex/rules")
	AGENT_ROW(DIR_HOME, ".codex/prompts")
	AGENT_ROW(DIR_HOME, ".codex/skills")
	AGENT_ROW(DIR_HOME, ".codex/plugins")
	AGENT_ROW(DIR_HOME, ".codex/packages")
	AGENT_ROW(DIR_HOME, ".codex/.env")
	AGENT_ROW(DIR_HOME, ".gemini/settings.json")
	AGENT_ROW(DIR_HOME, ".gemini/.env")
	AGENT_ROW(DIR_HOME, ".gemini/GEMINI.md")
	AGENT_ROW(DIR_HOME, ".gemini/extensions")
	AGENT_ROW(DIR_HOME, ".gemini/commands")
	AGENT_ROW(DIR_HOME, ".gemini/policies")
	AGENT_ROW(DIR_HOME, ".gemini/skills")
	AGENT_ROW(DIR_HOME, ".gemini/agents")
	AGENT_ROW(DIR_HOME, ".gemini/hooks")
	AGENT_ROW(DIR_HOME, ".gemini/trustedFolders.json")
#undef AGENT_ROW
	{ ROW_FROZEN, DIR_HOME, ".claude.json", NULL,
	  "state of Claude Code: trust decisions" },
	{ ROW_OBEYED, DIR_PARENTS, ".claude/settings.json", NULL, "project settings" },
	{ ROW_OBEYED, DIR_PARENTS, ".claude/settings.local.json", NULL,
	  "local settings" },
	{ ROW_FROZEN, DIR_PARENTS, ".claude/skills", NULL,
	  "skills run as instructions" },
	{ ROW_FROZEN, DIR_PARENTS, ".claude/agents", NULL,
	  "agents run as instructions" },
	{ ROW_FROZEN, DIR_PARENTS, ".claude/commands", NULL,
	  "commands run as instructions" },
	{ ROW_OBEYED, DIR_PARENTS, ".claude/hooks", NULL,
	  "hooks run outside the sandbox" },
	{ ROW_FROZEN, DIR_PARENTS, ".mcp.json", NULL,
	  "MCP servers run outside the sandbox" },
	{ ROW_OBEYED, DIR_PARENTS, ".cloche.json", NULL, "project policy" },
#define HOME_ROW(kind, dir, path, reason) \
	{ ROW_##kind, DIR_##dir, path, NULL, reason },
#include "policy/home.def"
#undef HOME_ROW
#define HIDE(dir, path, strength, marker, reason) \
	{ ROW_##strength, DIR_##dir, path, marker, reason },
#define REDACT(dir, path, marker, keys, reason) \
	{ ROW_BASELINE, DIR_##dir, path, marker, reason, keys },
#define SHOW(dir, path, reason) { ROW_SHOWN, DIR_##dir, path, NULL, reason },
#define NAMED(variable, reason)
#include "policy/hidden-paths.def"
#undef HIDE
#undef REDACT
#undef SHOW
#undef NAMED
};

static const struct { const char *variable, *reason; } named_rows[] = {
#define HIDE(dir, path, strength, marker, reason)
#define REDACT(dir, path, marker, keys, reason)
#define SHOW(dir, path, reason)
#define NAMED(variable, reason) { variable, reason },
#include "policy/hidden-paths.def"
#undef HIDE
#undef REDACT
#undef SHOW
#undef NAMED
};

/* Paths that srt lets every command write */
static const char *const srt_writable[] = {
	"/tmp/claude", "/private/tmp/claude", "~/.npm/_logs",
	"~/.claude/debug",
};

static bool is_obeyed(const struct row *row)
{
	return row->kind == ROW_OBEYED && row->dir != DIR_PARENTS;
}

/* The user has a rule for this path already: give it the place and strength of @row */
static void mark_place(struct path_rules *rules, const char *path,
		       const struct row *row)
{
	for (size_t i = 0; i < rules->len; i++) {
		struct path_rule *rule = &rules->v[i];

		if (rule->glob || strcmp(rule->path, path) != 0)
			continue;
		if (kinds[row->kind].place != PLACE_HOST)
			rule->place = kinds[row->kind].place;
		rule->obeyed |= is_obeyed(row);
		if (rule->strength < kinds[row->kind].strength)
			rule->strength = kinds[row->kind].strength;
	}
}

/* True if a rule that is at least as strong hides @path, or a directory above it */
static bool is_hidden(const struct policy *p, enum rule_strength strength,
		      const char *path)
{
	const struct path_rules *hidden = &p->paths[PATH_DENY_READ];

	for (size_t i = 0; i < hidden->len; i++) {
		if (hidden->v[i].strength >= strength && !hidden->v[i].glob &&
		    path_is_within(hidden->v[i].path, path))
			return true;
	}
	return false;
}

static void add_row(struct policy *p, const struct source *source,
		    const char *dir, const struct row *row)
{
	const enum path_list list = kinds[row->kind].list;
	char *path = *row->path ? path_join(dir, row->path) : mem_strdup(dir);
	/* Public files in a hidden directory are shown, unless a user's rule hides them */
	const bool denied = (row->kind == ROW_SHOWN || row->kind == ROW_OWN) &&
			    is_hidden(p, RULE_USER, path);
	const enum rule_place place = denied ? PLACE_HOST : kinds[row->kind].place;
	auto_free char *again = place != PLACE_HOST || is_obeyed(row) ?
				mem_strdup(path) : NULL;
	struct path_rule *rule;

	if (denied && row->kind == ROW_SHOWN) {
		free(path);
		return;
	}
	rule = policy_take_literal(p, list, path, kinds[row->kind].strength,
				   origin_make(source, NULL, row->reason));
	if (rule) {
		rule->marker = row->marker;
		rule->keys = row->keys;
		rule->place = place;
		rule->obeyed = is_obeyed(row);
	} else if (again) {
		mark_place(&p->paths[list], again, row);
	}
}

static void add_in_parents(struct policy *p, const struct source *source,
			   const struct row *row)
{
	auto_free char *dir = mem_strdup(p->cwd);

	do {
		add_row(p, source, dir, row);
	} while (path_up(dir));
}

/* True if @at is @below in @home */
static bool is_usual(const char *home, const char *below, const char *at)
{
	const size_t n = strlen(home);

	return at && path_is_within(home, at) &&
	       !strcmp(at[n] ? at + n + 1 : ".", below);
}

/* Add @row for its directory, for the default place of that if the environment moved
 * it, and for the home in the password database, which programs use if $HOME differs.
 */
static void add_default(struct policy *p, const struct source *source,
			const struct row *row)
{
	const char *below = policy_dir_below_home(row->dir), *at = p->dirs[row->dir];
	const bool elsewhere = p->account_home &&
			       (!p->home || strcmp(p->home, p->account_home) != 0);
	auto_free char *usual = NULL, *account = NULL;

	if (at)
		add_row(p, source, at, row);
	if (below && p->home && !is_usual(p->home, below, at))
		usual = path_resolve(p->home, below);
	if (usual)
		add_row(p, source, usual, row);
	if (below && elsewhere && kinds[row->kind].place == PLACE_HOST)
		account = path_resolve(p->account_home, below);
	if (account)
		add_row(p, source, account, row);
}

static void add_rows(struct policy *p, bool frozen)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"defaults", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if ((row->kind <= ROW_OBEYED) != frozen ||
		    !(kinds[row->kind].profiles & 1u << p->profile) ||
		    (row->kind == ROW_FORGE &&
		     policy_flag(p, FLAG_NO_FORGE, false)) ||
		    (row->kind == ROW_ROOTS && geteuid() != 0))
			continue;
		if (row->dir == DIR_PARENTS)
			add_in_parents(p, source, row);
		else
			add_default(p, source, row);
	}
}

/* A path that contains the project is left out: it would hide the project */
static void add_named(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"defaults", NULL, 0, "/");

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

static void add_srt_writable(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"profile srt", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(srt_writable); i++) {
		const bool in_home = *srt_writable[i] == '~';
		auto_free char *path = in_home && p->home ?
			path_join(p->home, srt_writable[i] + 2) : NULL;

		if (in_home && (!path || is_hidden(p, RULE_BASELINE, path)))
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
	/* These hold even without file rules: they decide what the next run may do */
	add_rows(p, true);
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
	add_rows(p, false);
	if (p->variable && p->profile != PROFILE_SRT)
		add_named(p);
	return 0;
}
