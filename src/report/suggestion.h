/* SPDX-License-Identifier: Apache-2.0 */
/* report/suggestion.h - the one line that would allow what was refused */

#ifndef REPORT_SUGGESTION_H
#define REPORT_SUGGESTION_H

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

/* @v is complete: where it is a key or a session that a program wanted, suggest the
 * agent's socket for @command (a shell line, or NULL) instead of the file
 */
void suggestion_instead(struct violation *v, const char *command);

/* The command that @v suggests is for the project @dir, wherever it is typed */
void suggestion_for(struct violation *v, const char *dir);

/* The rule's line of ignoreViolations that hides @v, or NULL */
const struct list_rule *ignore_find(const struct list_rules *rules,
				      const struct violation *v);

#endif /* REPORT_SUGGESTION_H */
