/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitignore.h - patterns with the meaning that gitignore(5) gives them
 *
 * One pattern compiles to a struct glob over absolute paths, so that walks and
 * the observer know one matcher only. A list of patterns adds what a single
 * one cannot have: negation, where the last match wins.
 */

#ifndef POLICY_GITIGNORE_H
#define POLICY_GITIGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct glob;

enum {
	GITIGNORE_MAX = 1 << 16,	/* Patterns in one list */
};

/**
 * struct ignore_pattern - One pattern
 * @glob:	Over absolute paths: what the pattern names, not what is below
 * @literal:	The only path it can match, or NULL if it is a real pattern
 * @negated:	Began with "!"
 * @dir_only:	Ended in "/": names directories only
 */
struct ignore_pattern {
	struct glob *glob;
	char *literal;
	bool negated, dir_only;
};

enum ignore_flags {
	IGNORE_NO_NEGATION = 1,	/* "!" is an error: a single rule has none */
	IGNORE_MUST_MATCH = 2,	/* A pattern that never matches is an error */
};

/* Compile @text as if it were in @dir/.gitignore, @dir absolute and clean. As
 * in git, a pattern that can never match is no error by itself; "#" is no
 * comment here. 0, or -EINVAL with words and *@ret untouched.
 */
int ignore_pattern_init(struct ignore_pattern *ret, const char *dir,
			const char *text, unsigned int flags, struct err *err);
void ignore_pattern_done(struct ignore_pattern *p);

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

#endif /* POLICY_GITIGNORE_H */
