/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/home.c - profile home: an empty home, and what comes back into it
 *
 * Theory of operation: the default profile hides what is known to be secret;
 * this one shows what is known to be needed. The home, and the directories
 * where XDG keeps settings and state, become private places (PLACE_PRIVATE, a
 * denial that nothing lifts); every row that shows something is an allow below
 * them. Whoever wants more allows more: the rules of settings files work as
 * ever, below the home.
 */

#include "policy/home.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/own.h"
#include "policy/baseline.h"

enum home_kind {
	HOME_PRIVATE, HOME_LAYER, HOME_CACHE, HOME_SHOW, HOME_FORGE, HOME_BIN,
	HOME_COVER, HOME_HIDE, HOME_KINDS,
};

struct home_row {
	enum home_kind kind;
	enum policy_dir dir;
	const char *path, *reason;
};

static const struct home_row rows[] = {
#define HOME_ROW(kind, dir, path, reason) \
	{ HOME_##kind, DIR_##dir, path, reason },
#include "policy/home.def"
#undef HOME_ROW
};

static const struct {
	enum path_list list;
	enum rule_strength strength;
	enum rule_place place;
	const char *words;
} kinds[HOME_KINDS] = {
	[HOME_PRIVATE] = { PATH_DENY_READ, RULE_ALWAYS, PLACE_PRIVATE,
		"empty, the sandbox's own" },
	[HOME_LAYER] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_LAYER,
		"readable; writes stay in the sandbox" },
	[HOME_CACHE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_CACHE,
		"readable; writes stay in the sandbox (without overlayfs: written)" },
	[HOME_SHOW] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST,
		"readable" },
	[HOME_FORGE] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_HOST,
		"readable, not with `--no-forge`" },
	[HOME_BIN] = { PATH_ALLOW_READ, RULE_BASELINE, PLACE_BIN,
		"can be run; last on PATH" },
	[HOME_COVER] = { PATH_DENY_READ, RULE_BASELINE, PLACE_COVER,
		"hidden again" },
	[HOME_HIDE] = { PATH_DENY_READ, RULE_BASELINE, PLACE_HOST,
		"hidden" },
};

void home_add(struct policy *p)
{
	const struct source *source = policy_add_source(p, SCOPE_BUILTIN,
		"home.def", NULL, 0, "/");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct home_row *row = &rows[i];
		const struct path_rule rule = {
			.path = (char *)(uintptr_t)row->path,
			.strength = kinds[row->kind].strength,
			.place = kinds[row->kind].place,
		};

		if (row->kind == HOME_FORGE &&
		    policy_flag(p, FLAG_NO_FORGE, false))
			continue;
		baseline_add(p, source, row->dir, kinds[row->kind].list,
			     &rule, row->reason);
	}
}

static const char *dir_words(enum policy_dir dir)
{
	static const char *const words[DIR_COUNT] = {
		[DIR_ROOT] = "/", [DIR_HOME] = "~/", [DIR_CONFIG] = "~/.config/",
		[DIR_STATE] = "~/.local/state/", [DIR_CACHE] = "~/.cache/",
		[DIR_DATA] = "~/.local/share/",
	};

	return words[dir];
}

static bool is_exposed(const struct home_row *row)
{
	return kinds[row->kind].list == PATH_ALLOW_READ;
}

static void print_rows(struct buf *out, bool exposed)
{
	buf_adds(out, "| path | how | why |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (is_exposed(&rows[i]) == exposed)
			buf_addf(out, "| `%s%s` | %s | %s |\n",
				 dir_words(rows[i].dir), rows[i].path,
				 kinds[rows[i].kind].words, rows[i].reason);
	}
}

void home_print(struct buf *out)
{
	buf_adds(out, "# Deliberately exposed\n\n"
		 "What `--profile home` shows of the user's directories, and why. Made by\n"
		 "`tools/gen-exposed.c` from `src/policy/home.def`; `make test` compares.\n"
		 "`~/.config`, `~/.cache` and the like are where XDG_CONFIG_HOME and its kin\n"
		 "say; a place that was moved counts at its default, too.\n\n"
		 "## Shown\n\n");
	print_rows(out, true);
	buf_adds(out, "\nAlso: the start directory, writable; every path that a rule allows below the\n"
		 "home (`--read`, `--write`, `filesystem.allowRead`, `filesystem.allowWrite`: that\n"
		 "is how each list here is extended); the file of the command itself, if it lies\n"
		 "in the home; and `~/.gitconfig`, which is not the user's but made for the run,\n"
		 "from the settings of `src/policy/gitkeys.def`. A row that is a symbolic link\n"
		 "shows nothing but, for a program, the link.\n\n"
		 "## Not shown\n\n");
	print_rows(out, false);
	buf_adds(out, "\nInside what is shown, the rows of `src/policy/hidden.def` stay hidden: tokens in\n"
		 "`~/.cache` and `~/.local/share` that are known by name.\n\n"
		 "## What that leaves\n\n"
		 "- The tokens of gh and glab can be read, and sent wherever the network lets the\n"
		 "  command go. `--no-forge` (`noForge` in settings) takes them out.\n"
		 "- Secrets that a program keeps in `~/.cache` or `~/.local/share` under a name we\n"
		 "  do not know can be read. `--deny-read` hides them.\n"
		 "- Where the kernel has no overlays for users, the caches marked above are the\n"
		 "  host's own: what is written there is used by later builds outside. It is said\n"
		 "  when that happens.\n");
}
