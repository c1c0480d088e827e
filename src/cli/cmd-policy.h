/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-policy.h - what the words of `cloche policy` share */

#ifndef CLI_CMD_POLICY_H
#define CLI_CMD_POLICY_H

#include <jansson.h>

struct origin;

/* {"scope": ..., "file": ..., "line": ..., "key": ..., "reason": ...} */
json_t *policy_origin_json(const struct origin *origin);

#endif /* CLI_CMD_POLICY_H */
