/* SPDX-License-Identifier: Apache-2.0 */
/* policy/pathrule.h - the grammar of sandbox.filesystem.* entries */

#ifndef POLICY_PATHRULE_H
#define POLICY_PATHRULE_H

#include <stdbool.h>

struct err;
struct glob;
struct path_rule;

/* Read @text, written where relative paths start at @base, by somebody whose
 * home is @home (or NULL): "//p" and "/p" are absolute, "~" and "~/p" lie in
 * the home, all else below @base; "*", "?" and "[set]" make it a pattern; a
 * final "/" or "/ **" (without the blank) means the directory itself.
 * Fills in path, glob and literal. 0, or -EINVAL with words and @ret as it was.
 */
int path_rule_parse(const char *text, const char *base, const char *home,
		    struct path_rule *ret, struct err *err);

/* The pattern @rest, which begins with a "/", in the directory of that very name;
 * NULL if it is none
 */
struct glob *path_rule_below(const char *dir, const char *rest);

/* Release the parts of @rule */
void path_rule_done(struct path_rule *rule);

/* Why @text most likely names something else than its author thinks, and what
 * to write; NULL if nothing is odd about it. A backslash takes a character's
 * meaning away if @escapes. As a denial such a text would protect nothing, and say
 * nothing.
 */
const char *path_rule_doubt(const char *text, bool escapes);

#endif /* POLICY_PATHRULE_H */
