/* SPDX-License-Identifier: Apache-2.0 */
/* policy/baseline.h - rules from tables, shared by those that have one */

#ifndef POLICY_BASELINE_H
#define POLICY_BASELINE_H

#include "policy/policy.h"

/* Add @row, whose path is below @dir, to @list: at the directory itself, and at
 * its default place if the environment moved it
 */
void baseline_add(struct policy *p, const struct source *source,
		  enum policy_dir dir, enum path_list list,
		  const struct path_rule *row, const char *reason);

#endif /* POLICY_BASELINE_H */
