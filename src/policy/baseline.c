/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/baseline.c - what every policy has, from our own tables
 *
 * Theory of operation: the tables name a directory and a path below it. A row
 * below an XDG directory counts at the place that the environment names and at
 * the default one: a variable set for one session does not uncover the files
 * that all others use.
 */

#include <errno.h>
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
#include "policy/hidden.def"
#undef HIDE
#undef SHOW
};

struct frozen_row {
	enum policy_dir dir;
	const char *path;
	bool srt;
	const char *reason;
};

static const struct frozen_row frozen_rows[] = {
#define FREEZE(dir, path, srt, reason) { DIR_##dir, path, srt, reason },
#include "policy/always.def"
#undef FREEZE
};

/* Paths that srt lets every command write */
static const char *const srt_writable[] = {
	"/tmp/claude", "/private/tmp/claude", "~/.npm/_logs",
	"~/.claude/debug",
};

static const char *default_below_home(enum policy_dir dir)
{
	static const char *const below[DIR_COUNT] = {
		[DIR_CLAUDE] = ".claude",
		[DIR_CONFIG] = ".config",
		[DIR_STATE] = ".local/state",
		[DIR_CACHE] = ".cache",
		[DIR_DATA] = ".local/share",
	};

	return below[dir];
}

static void add_row(struct policy *p, const struct source *source,
		    enum path_list list, const char *dir, const char *path,
		    enum rule_strength strength, const char *marker,
		    const char *reason)
{
	const size_t before = p->paths[list].len;

	policy_take_literal(p, list, path_join(dir, path), strength,
			    origin_make(source, NULL, reason));
	if (p->paths[list].len > before)
		p->paths[list].v[before].marker = marker;
}

/* The default place of @dir, if it was moved from there */
static char *moved_from(const struct policy *p, enum policy_dir dir)
{
	const char *below = default_below_home(dir);
	const size_t n = p->home ? strlen(p->home) : 0;
	const char *at = p->dirs[dir];

	if (!below || !p->home ||
	    (at && !strncmp(at, p->home, n) && at[n] == '/' &&
	     !strcmp(at + n + 1, below)))
		return NULL;
	return path_join(p->home, below);
}

/* At the directory itself, and at its default place if it was moved */
static void add_rows(struct policy *p, const struct source *source,
		     enum policy_dir dir, enum path_list list,
		     const char *path, enum rule_strength strength,
		     const char *marker, const char *reason)
{
	auto_free char *usual = moved_from(p, dir);

	if (p->dirs[dir])
		add_row(p, source, list, p->dirs[dir], path, strength, marker,
			reason);
	if (usual)
		add_row(p, source, list, usual, path, strength, marker,
			reason);
}

static void add_hidden(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"hidden.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(hidden_rows); i++) {
		const struct hidden_row *row = &hidden_rows[i];

		if (p->profile == PROFILE_SRT && row->strength != RULE_ALWAYS)
			continue;
		add_rows(p, source, row->dir, row->list, row->path,
			 row->strength, row->marker, row->reason);
	}
}

static void add_in_parents(struct policy *p, const struct source *source,
			   const struct frozen_row *row)
{
	auto_free char *dir = mem_strdup(p->cwd);

	for (;;) {
		char *parent = path_parent(dir);

		add_row(p, source, PATH_DENY_WRITE, dir, row->path,
			RULE_ALWAYS, NULL, row->reason);
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

		if (p->profile == PROFILE_SRT && !row->srt)
			continue;
		if (row->dir == DIR_PARENTS)
			add_in_parents(p, source, row);
		else
			add_rows(p, source, row->dir, PATH_DENY_WRITE,
				 row->path, RULE_ALWAYS, NULL, row->reason);
	}
}

static void add_srt_writable(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"profile srt", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(srt_writable); i++) {
		if (*srt_writable[i] == '~' && !p->home)
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
	if (policy_flag(p, FLAG_FS_DISABLED, false))
		return 0;

	profile = policy_add_source(p, SCOPE_BUILTIN, "profile", NULL, 0,
				    p->cwd);
	if (p->profile == PROFILE_SRT)
		add_srt_writable(p);
	else
		policy_add_literal(p, PATH_ALLOW_WRITE, p->cwd, RULE_BASELINE,
			origin_make(profile, NULL, "the start directory"));
	add_hidden(p);
	add_frozen(p);
	return 0;
}
