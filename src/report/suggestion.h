/* SPDX-License-Identifier: Apache-2.0 */
/* report/suggestion.h - the one line that would allow what was refused */

#ifndef REPORT_SUGGESTION_H
#define REPORT_SUGGESTION_H

#include <stdbool.h>

struct list_rules;
struct violation;

/* Fill in @v->suggest_edit and @v->suggest_command where they are NULL and
 * there is an honest answer. @grant is the path to allow, if that is not the
 * target itself (a directory, for a name that does not exist); or NULL.
 * The strings are @v's own.
 */
void suggestion_fill(struct violation *v, const char *grant);

/* The same, where one more rule helps whatever the rule says that denied it */
void suggestion_allow(struct violation *v, const char *grant);

/* Giving up the protected name @name would */
void suggestion_unprotect(struct violation *v, const char *name);

/* Add to the reason why there is no such rule, or what to think of */
void suggestion_nothing(struct violation *v, const char *why);

/**
 * struct rerun - How a run was started, for a line that starts it again
 * @options:	Its options, as words of a shell, each behind a blank; "" for none
 * @line:	Its command, as words of a shell; NULL: it cannot be repeated
 * @project:	The project that rules are for, if that is not where the reader is; or NULL
 * @no_settings: No settings file counts, so only an option can allow something
 */
struct rerun {
	const char *options, *line, *project;
	bool no_settings;
};

/* What makes the run of @how work where @command does so for a run without options:
 * "cloche policy allow ..." for its project, or as an option where no settings file
 * counts; "cloche run OPTIONS -- " with all that this run was given. Any other command
 * stays as it is. The caller frees; NULL: there is no such line.
 */
char *suggestion_for(const char *command, const struct rerun *how);

/* @v is complete: where it is a key or a session that a program wanted, suggest the
 * agent's socket instead of the file; and make the command that it suggests one for the
 * run of @how
 */
void suggestion_finish(struct violation *v, const struct rerun *how);

/* The rule's line of ignoreViolations that hides @v, or NULL */
const struct list_rule *ignore_find(const struct list_rules *rules,
				      const struct violation *v);

#endif /* REPORT_SUGGESTION_H */
