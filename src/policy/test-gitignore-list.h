/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-gitignore-list.h - a whole .gitignore, for comparisons with git
 *
 * For tests: cloche's rules are single patterns, but git is asked about lists.
 */

#ifndef POLICY_TEST_GITIGNORE_LIST_H
#define POLICY_TEST_GITIGNORE_LIST_H

#include <stdbool.h>

struct err;
struct gitignore;

/* All lines of a .gitignore file in @dir. NULL with words and the line. */
struct gitignore *gitignore_new(const char *dir, const char *text,
				struct err *err);
void gitignore_free(struct gitignore *list);

/* True if git would ignore the absolute @path below the list's directory:
 * itself, or because a directory above it is ignored
 */
bool gitignore_match(const struct gitignore *list, const char *path,
		     bool is_dir);

#endif /* POLICY_TEST_GITIGNORE_LIST_H */
