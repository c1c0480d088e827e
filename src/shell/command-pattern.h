/* SPDX-License-Identifier: Apache-2.0 */
/* shell/command-pattern.h - Bash rule contents: "npm run *", "git status", "ls:*"
 *
 * A rule is matched against one simple command at a time (shell/parse.h).
 * The same grammar serves Bash(...) rules and sandbox.excludedCommands.
 */

#ifndef SHELL_COMMAND_PATTERN_H
#define SHELL_COMMAND_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct shell_command;
struct shell_script;

enum { COMMAND_PATTERN_MAX = 10000 };	/* Bytes; no longer line can match */

/**
 * struct command_pattern - One compiled content
 * @text:	"*" stands for any text; a final " *" or ":*" is taken off
 * @longer:	NULL, or @text and " *" if that was there
 * @plain:	Bytes of @text before the first "*"
 * @exact:	No wildcard at all
 */
struct command_pattern {
	char *text, *longer;
	size_t plain;
	bool exact;
};

/* Compile @text. 0, or -EINVAL with a message and *@ret untouched. */
int command_pattern_init(struct command_pattern *ret, const char *text,
			 struct err *err);
void command_pattern_done(struct command_pattern *p);

/* True if all of @text matches. Linear: no backtracking. */
bool command_pattern_match(const struct command_pattern *p, const char *text);

/* The word that names the program which really runs, behind assignments and
 * wrappers; the number of words if there is none or it is unknown
 */
size_t command_name(const struct shell_script *script,
		    const struct shell_command *command);

/* True if word @i is known and is one of @names, which have blanks between them, with or
 * without a directory before it
 */
bool command_is(const struct shell_script *script,
		const struct shell_command *command, size_t i,
		const char *names);

/* Append the commands that those of @script run by their words (bash -c, eval,
 * trap, find -exec). NULL, or why some of them cannot be known.
 */
const char *command_unfold(struct shell_script *script);

/* True if xargs stands before word @i: it adds words that are not in the line */
bool command_is_fed(const struct shell_script *script,
		    const struct shell_command *command, size_t i);

/* For deny and ask: true if @p matches @command in any spelling; any leading
 * assignments and the known wrappers (timeout, env, sudo, ...) are seen through
 */
bool command_may_match(const struct command_pattern *p,
		       const struct shell_script *script,
		       const struct shell_command *command);

/* For allow: true if @p matches @command as it is written, or behind harmless
 * assignments and known wrappers. Commands that run others (watch, flock, find
 * -exec) need a pattern without wildcard.
 */
bool command_must_match(const struct command_pattern *p,
			const struct shell_script *script,
			const struct shell_command *command);

/* True if the shell line @command may run outside the sandbox: every part
 * matches one of @n @patterns, and nothing in it could do more than the parts
 * show (cd, substitutions, redirections, here-documents, git -C and the like).
 * Otherwise false, and *@why, if wanted, is words to free.
 */
bool excluded_match(const char *command, const char *const *patterns, size_t n,
		    char **why);

#endif /* SHELL_COMMAND_PATTERN_H */
