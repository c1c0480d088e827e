/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-glob.c - a pattern, a newline, and a path; what matches is in
 * the prefix, and no directory above a match was pruned
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_match(const struct glob *glob, const char *path)
{
	auto_free char *clean = path_resolve("/", path);
	char *dir;

	/* Only the text of a real path has directories above it */
	if (strcmp(path, clean) != 0 || !path[1])
		return;
	if (!path_is_within(glob_prefix(glob), path))
		abort();
	for (dir = path_parent(path);;) {
		char *up = path_parent(dir);
		const bool top = !dir[1];

		if (!glob_may_match_below(glob, dir))
			abort();
		free(dir);
		dir = up;
		if (top)
			break;
	}
	free(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = mem_zalloc(size + 1);
	const char *path = "";
	struct glob *glob;
	char *end;

	memcpy(text, data, size);
	end = strchr(text, '\n');
	if (end) {
		*end = '\0';
		path = end + 1;
	}
	(void)glob_is_pattern(text);
	glob = glob_new(text, NULL);
	if (!glob)
		return 0;
	(void)glob_may_match_below(glob, path);
	if (glob_match(glob, path))
		check_match(glob, path);
	/* Without a pattern character, a pattern is its own only match */
	if (!glob_is_pattern(text) &&
	    glob_match(glob, path) != !strcmp(text, path))
		abort();
	glob_free(glob);
	return 0;
}
