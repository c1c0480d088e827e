/* SPDX-License-Identifier: Apache-2.0 */
/* agent/claude-shell.h - Claude Code's shell prefix: its lines run in the sandbox
 *
 * $CLAUDE_CODE_SHELL_PREFIX names a program that Claude Code starts with one argument,
 * a whole line, instead of handing that line to the shell. The prompt, the rules and
 * the history of the agent keep the command that the model wrote.
 */

#ifndef AGENT_CLAUDE_SHELL_H
#define AGENT_CLAUDE_SHELL_H

#include <stdbool.h>
#include <sys/types.h>

struct buf;
struct err;
struct options;
struct run;

/**
 * struct claude_line - What Claude Code hands to its prefix
 * @is_tool:	A tool or the user runs a command; else it starts a hook, an MCP server
 *		or the status line
 * @cwd_file:	Where the line writes its last directory, which Claude Code reads; or NULL
 * @snapshot:	The script with the user's functions that it reads first; or NULL
 * @command:	What the model or the user wrote; or NULL if that is not understood
 */
struct claude_line {
	bool is_tool;
	char *cwd_file, *snapshot, *command;
};

void claude_line_parse(const char *line, struct claude_line *ret);
void claude_line_done(struct claude_line *line);

/* Run @line in the sandbox, with @options, as the settings of the project say; with @join,
 * which is session_run(), in that of the agent's session. Returns the exit status, or a
 * negative errno with a message: nothing ran.
 */
int claude_shell_run(const char *line, int (*join)(struct run *run),
		     struct options *options, struct err *err);

/* The agent that has started @pid, by shells or without: itself, or a parent of it */
pid_t agent_process(pid_t pid);

/* The directory of the agent @pid itself, to be freed; NULL with a message. Ours is where
 * the last command left the session, which the model decides.
 */
char *agent_project(pid_t pid, struct err *err);

/* Positive if the user's settings let @command (NULL: not known), or all commands, run
 * without the sandbox; or a negative errno with a message
 */
int agent_stays_outside(const char *command, const char *project,
			const struct options *options, struct err *err);

/* One sandbox for all commands of the agent's session @id. Without a name of that, each is
 * a run of its own.
 */
int agent_add_session(const char *agent, const char *id, pid_t owner,
		      struct options *options, struct err *err);

/* Run @line by @shell in the sandbox, from the current directory; as claude_shell_run().
 * Reports show @command, which the line contains; NULL: the line. Where there can be no
 * session, it is a run of its own.
 */
int agent_run_inside(const char *shell, const char *line, const char *command,
		     const char *project, int (*join)(struct run *run), struct options *options,
		     struct err *err);

/* A script that starts @program with @words, @options and its own arguments */
void agent_shell_script(const char *program, const char *words,
			const char *const *options, struct buf *out);

/* A variable that makes a shell before ours run something, and which only settings can
 * have set since the start of the process @agent; or NULL. For a hook.
 */
const char *agent_planted_variable(pid_t agent);

/* Why the shell tool would not run @prefix, or would run something before it: to be
 * freed; NULL if all is well. For a hook, whose environment is the tool's.
 */
char *claude_shell_objection(const char *prefix);

/* The environment that process @pid was started with, as /proc has it. 0 or a negative
 * errno.
 */
int agent_environment(pid_t pid, struct buf *ret);

/* The value of @name in it; or NULL */
const char *agent_variable(const struct buf *environment, const char *name);

#endif /* AGENT_CLAUDE_SHELL_H */
