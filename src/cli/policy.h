/* SPDX-License-Identifier: Apache-2.0 */
/* cli/policy.h - the parts of `cloche policy` */

#ifndef CLI_POLICY_H
#define CLI_POLICY_H

#include <jansson.h>

#include "policy/origin.h"

struct err;
struct options;
struct origin;

/**
 * struct policy_call - One use of the verb
 * @words:	What follows the options, @count of them
 * @json:	--json was given
 * @scope:	--scope, or SCOPE_BUILTIN
 */
struct policy_call {
	const struct options *options;
	char **words;
	int count;
	int json;
	enum scope scope;
};

/* Each returns an exit status, or a negative errno with words */
#define POLICY_COMMAND(function, name, synopsis, help) \
	int policy_##function(const struct policy_call *call, struct err *err);
#include "cli/policy.def"
#undef POLICY_COMMAND

/* {"scope": ..., "file": ..., "line": ..., "key": ..., "reason": ...} */
json_t *policy_origin_json(const struct origin *origin);

/* Print @value, which is taken over, on one line */
void policy_print_json(json_t *value);

#endif /* CLI_POLICY_H */
