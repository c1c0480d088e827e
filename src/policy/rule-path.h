/* SPDX-License-Identifier: Apache-2.0 */
/* policy/rule-path.h - the paths of Read and Edit rules */

#ifndef POLICY_RULE_PATH_H
#define POLICY_RULE_PATH_H

#include "shell/rule.h"

struct err;
struct path_rule;

/**
 * struct rule_bases - Where relative paths start; all absolute and clean
 * @root:	Of the settings file: for "/path"
 * @cwd:	For "path" and "./path"
 * @home:	For "~/path"; NULL if there is none
 */
struct rule_bases {
	const char *root, *cwd, *home;
};

/* The paths of @rule, which is RULE_PATH. A bare name matches at any depth below
 * @bases->cwd, and so does a directory's ("name/", or with two stars) in a deny rule;
 * in an allow rule that matches in @bases->cwd only. Fills in text, path and glob. 0, or
 * -EINVAL with a message and *@ret untouched.
 */
int rule_path_init(struct path_rule *ret, const struct rule *rule,
		   const struct rule_bases *bases, struct err *err);

#endif /* POLICY_RULE_PATH_H */
