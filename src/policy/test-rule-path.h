/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-rule-path.h - match a path rule as the view does */

#ifndef POLICY_TEST_RULE_PATH_H
#define POLICY_TEST_RULE_PATH_H

#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/pathrule.h"
#include "policy/rule-path.h"

/* True if @absolute, or a directory above it, is named */
static inline bool rule_path_match(const struct path_rule *path, const char *absolute)
{
	auto_free char *up = NULL;
	char *slash;

	if (!path->glob)
		return path_is_within(path->path, absolute);
	if (glob_match(path->glob, absolute))
		return true;
	up = mem_strdup(absolute);
	while ((slash = strrchr(up, '/')) && slash > up) {
		*slash = '\0';
		if (glob_match(path->glob, up))
			return true;
	}
	return false;
}

#endif /* POLICY_TEST_RULE_PATH_H */
