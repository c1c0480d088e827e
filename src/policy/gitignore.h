/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitignore.h - patterns with the meaning that gitignore(5) gives them
 *
 * One pattern compiles to a struct glob over absolute paths, so that walks and the
 * observer need one matcher. Whole .gitignore files, with negated patterns, are parsed
 * by tests only (policy/test-gitignore-list.h).
 */

#ifndef POLICY_GITIGNORE_H
#define POLICY_GITIGNORE_H

#include <stdbool.h>

struct err;
struct glob;

/**
 * struct gitignore_pattern - One pattern
 * @glob:	Over absolute paths: what the pattern names, not what is below
 * @literal:	The only path it can match, or NULL if it is a real pattern
 * @negated:	Began with "!"
 * @dir_only:	Ended in "/": names directories only
 */
struct gitignore_pattern {
	struct glob *glob;
	char *literal;
	bool negated, dir_only;
};

enum gitignore_flags {
	GITIGNORE_NO_NEGATION = 1,	/* "!" is an error: a single rule has none */
	GITIGNORE_MUST_MATCH = 2,	/* A pattern that never matches is an error */
};

/* Compile @text as if it were in @dir/.gitignore, @dir absolute and clean. As
 * in git, a pattern that can never match is no error by itself; "#" is no
 * comment here. 0, or -EINVAL with a message and *@ret untouched.
 */
int gitignore_pattern_init(struct gitignore_pattern *ret, const char *dir,
			const char *text, unsigned int flags, struct err *err);
void gitignore_pattern_done(struct gitignore_pattern *p);

#endif /* POLICY_GITIGNORE_H */
