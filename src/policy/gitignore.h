/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitignore.h - patterns with the meaning that gitignore(5) gives them
 *
 * One pattern compiles to a struct glob over absolute paths, so that walks and the
 * observer need one matcher. Whole .gitignore files, with negated patterns, are parsed
 * by tests only (policy/test-gitignore-list.h).
 */

#ifndef POLICY_GITIGNORE_H
#define POLICY_GITIGNORE_H

struct err;
struct glob;

/* Compile @text, one pattern, as if it were in @dir/.gitignore, @dir absolute and clean.
 * It matches the paths that the pattern names, not what is below them; a final "/" and
 * blanks at the end are left out, and "#" starts no comment. NULL with a message if it is
 * too long or negated, or can never match (then the code is -ENODATA).
 */
struct glob *gitignore_glob(const char *dir, const char *text, struct err *err);

#endif /* POLICY_GITIGNORE_H */
