/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-gitignore.c - a path, a newline, and a list; below what is
 * ignored all is ignored, and a pattern's only path does match
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "fuzz.h"
#include "policy/gitignore.h"
#include "policy/glob.h"
#include "policy/test-gitignore-list.h"

static void check_list(const char *text, const char *path)
{
	struct gitignore *list = gitignore_new("/w", text, NULL);
	auto_free char *below = path_join(path, "x");

	if (!list)
		return;
	(void)gitignore_match(list, path, false);
	if (gitignore_match(list, path, true) &&
	    !gitignore_match(list, below, false))
		abort();
	gitignore_free(list);
}

static void check_pattern(const char *text, const char *path)
{
	struct glob *glob = gitignore_glob("/w", text, NULL);
	auto_free char *literal = glob ? pattern_literal(glob) : NULL;

	if (literal && !glob_match(glob, literal))
		abort();
	if (literal && glob_match(glob, path) != !strcmp(literal, path))
		abort();
	glob_free(glob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *list;
	auto_free char *text = fuzz_line(data, size, &list);
	auto_free char *path = text ? path_resolve("/w", text) : NULL;

	if (!path || !path_is_below("/w", path))
		return 0;
	check_list(list, path);
	check_pattern(list, path);
	return 0;
}
