/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-exposed.c - docs/deliberately-exposed.md, from the table
 *
 *	gen-exposed			print it
 *	gen-exposed --check FILE	1 if FILE says something else
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "policy/policy.h"

enum { FILE_MAX = 1 << 20 };

enum {
	HOME_PRIVATE, HOME_LAYER, HOME_CACHE, HOME_SHOW, HOME_FORGE, HOME_BIN,
	HOME_EMPTY, HOME_COVER, HOME_HIDE,
};

static const struct home_row {
	int kind;
	enum policy_dir dir;
	const char *path, *reason;
} rows[] = {
#define HOME_ROW(kind, dir, path, reason) \
	{ HOME_##kind, DIR_##dir, path, reason },
#include "policy/home.def"
#undef HOME_ROW
};

static const struct {
	bool exposed;
	const char *words;
} kinds[] = {
	[HOME_PRIVATE] = { false, "empty, the sandbox's own" },
	[HOME_LAYER] = { true, "readable; writes stay in the sandbox" },
	[HOME_CACHE] = { true, "readable; writes stay in the sandbox (without overlayfs: written)" },
	[HOME_SHOW] = { true, "readable" },
	[HOME_FORGE] = { true, "readable, not with `--no-forge`" },
	[HOME_BIN] = { true, "can be run; last on PATH" },
	[HOME_EMPTY] = { false, "empty, the sandbox's own" },
	[HOME_COVER] = { false, "hidden again" },
	[HOME_HIDE] = { false, "hidden" },
};

static const char *dir_words(enum policy_dir dir)
{
	static const char *const words[DIR_COUNT] = {
		[DIR_ROOT] = "/", [DIR_HOME] = "~/", [DIR_CONFIG] = "~/.config/",
		[DIR_STATE] = "~/.local/state/", [DIR_CACHE] = "~/.cache/",
		[DIR_DATA] = "~/.local/share/",
	};

	return words[dir];
}

static void print_rows(struct buf *out, bool exposed)
{
	buf_adds(out, "| path | how | why |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (kinds[rows[i].kind].exposed == exposed)
			buf_addf(out, "| `%s%s` | %s | %s |\n",
				 dir_words(rows[i].dir), rows[i].path,
				 kinds[rows[i].kind].words, rows[i].reason);
	}
}

static void home_print(struct buf *out)
{
	buf_adds(out, "# Deliberately exposed\n\n"
		 "What `--profile home` shows of the user's directories, and why. Made by\n"
		 "`tools/gen-exposed.c` from `src/policy/home.def`; `make test` compares.\n"
		 "`~/.config`, `~/.cache` and so on stand for the directories that\n"
		 "XDG_CONFIG_HOME and similar variables name, and for the defaults.\n\n"
		 "## Shown\n\n");
	print_rows(out, true);
	buf_adds(out, "\nAlso: the start directory, writable; every path that a rule allows below the\n"
		 "home (`--read`, `--write`, `filesystem.allowRead`, `filesystem.allowWrite`: that\n"
		 "is how each list here is extended); the file of the command itself, if it lies\n"
		 "in the home; and `~/.gitconfig`, which is not the user's but made for the run,\n"
		 "from the settings of `src/policy/gitconfig.c`. A row that is a symbolic link\n"
		 "shows nothing but, for a program, the link.\n\n"
		 "## Not shown\n\n");
	print_rows(out, false);
	buf_adds(out, "\nInside what is shown, the rows of `src/policy/hidden-paths.def` stay hidden: tokens in\n"
		 "`~/.cache` and `~/.local/share` that are known by name.\n\n"
		 "## What remains readable\n\n"
		 "- The tokens of gh and glab can be read, and sent wherever the network lets the\n"
		 "  command go. `--no-forge` (`noForge` in settings) hides them.\n"
		 "- Secrets that a program keeps in `~/.cache` or `~/.local/share` under a name\n"
		 "  that cloche does not know can be read. `--deny-read` hides them.\n"
		 "- Where the kernel has no overlays for users, the caches marked above are the\n"
		 "  host's own: what is written there is used by later builds outside. A run reports\n"
		 "  that.\n");
}

int main(int argc, char **argv)
{
	auto_buf struct buf want = { 0 }, have = { 0 };
	struct err err = { 0 };

	home_print(&want);
	if (argc != 3 || strcmp(argv[1], "--check") != 0) {
		fputs(buf_str(&want), stdout);
		return 0;
	}
	if (fs_read(AT_FDCWD, argv[2], FILE_MAX, &have, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!strcmp(buf_str(&want), buf_str(&have)))
		return 0;
	fprintf(stderr, "%s is out of date: write it with build/src/policy/gen-exposed\n",
		argv[2]);
	return 1;
}
