/* SPDX-License-Identifier: Apache-2.0 */
/* lib/tidy.c - a fresh home stays as it was: no empty .cache, .config, .local */

#include "lib/tidy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"

/* @dir and the directories above it that are not there */
static void note_missing(struct tidy *tidy, char *dir)
{
	while (tidy->len < TIDY_MAX && strcmp(dir, "/") != 0 &&
	       access(dir, F_OK) < 0) {
		tidy->missing[tidy->len++] = dir;
		dir = path_parent(dir);
	}
	free(dir);
}

void tidy_open(struct tidy *tidy)
{
	static const char *const places[][2] = {
		{ "XDG_CACHE_HOME", ".cache" }, { "XDG_CONFIG_HOME", ".config" },
		{ "XDG_STATE_HOME", ".local/state" },
	};

	tidy->len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *dir = fs_xdg(places[i][0], places[i][1]);

		if (dir)
			note_missing(tidy, dir);
	}
}

void tidy_close(struct tidy *tidy)
{
	/* Only an empty one can go: nothing of anybody's is lost */
	for (size_t i = 0; i < tidy->len; i++) {
		(void)rmdir(tidy->missing[i]);
		free(tidy->missing[i]);
	}
	tidy->len = 0;
}
