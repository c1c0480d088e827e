/* SPDX-License-Identifier: Apache-2.0 */
/* policy/project.h - which project a directory belongs to (docs/decisions/project.md) */

#ifndef POLICY_PROJECT_H
#define POLICY_PROJECT_H

#include <stdbool.h>

struct file_reader;
struct git_repo;
struct policy;

/* Find the repository around the start directory of @policy: true and *@repo, or false if
 * there is none. Its work tree becomes @policy->project, which is the start directory
 * otherwise, unless it contains the home, is not the user's or was made by a sandboxed
 * command.
 */
bool project_find(const struct file_reader *reader, struct policy *policy,
		  struct git_repo *repo);

#endif /* POLICY_PROJECT_H */
