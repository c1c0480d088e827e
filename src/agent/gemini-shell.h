/* SPDX-License-Identifier: Apache-2.0 */
/* agent/gemini-shell.h - the bash that Gemini CLI finds: its lines run in the sandbox
 *
 * Gemini CLI runs each command by the first bash on its PATH. A shim puts a directory with
 * a bash of ours first. The prompt and the rules of the agent keep the command that the
 * model wrote.
 */

#ifndef AGENT_GEMINI_SHELL_H
#define AGENT_GEMINI_SHELL_H

#include <stdbool.h>

struct err;
struct options;
struct run;

/**
 * struct gemini_line - What Gemini CLI hands to bash -c
 * @is_tool:	A tool or the user runs a command
 * @tmp:	The directory of its own in which the line stores the numbers of background
 *		processes; or NULL
 * @command:	What the model wrote; or NULL if that is not understood
 */
struct gemini_line {
	bool is_tool;
	char *tmp, *command;
};

void gemini_line_parse(const char *line, struct gemini_line *ret);
void gemini_line_done(struct gemini_line *line);

/* Be bash with @args, in the sandbox; as claude_shell_run(). Hooks of the user run as they
 * do without us.
 */
int gemini_shell_run(char **args, int (*join)(struct run *run), struct options *options,
		     struct err *err);

/* Why Gemini CLI would not run the bash at @prefix, or something before it: to be freed;
 * NULL if all is well. For a hook, whose PATH is the agent's.
 */
char *gemini_shell_objection(const char *prefix);

#endif /* AGENT_GEMINI_SHELL_H */
