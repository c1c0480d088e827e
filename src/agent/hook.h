/* SPDX-License-Identifier: Apache-2.0 */
/* agent/hook.h - the hooks of agents: request, verdict, response, installation
 *
 * Before it runs a command, an agent sends a JSON object to its hook and follows the
 * response. Names and formats differ by agent: these are in agents.def and
 * hook-response.c only. Nothing here reads a descriptor or prints.
 */

#ifndef AGENT_HOOK_H
#define AGENT_HOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct policy;
struct text_near;

/* Below cloche's own settings: what agents start */
#define HOOK_SCRIPTS	"agents"

enum { HOOK_WATCHDOG_MS = 15000 };	/* Less than the agents' limit below */
enum { HOOK_TIMEOUT_S = 20 };		/* What is installed as the limit */

enum agent_id {
#define AGENT(id, ...) AGENT_##id,
#include "agent/agents.def"
	AGENT_COUNT,
};

/* EVENT_END is installed with --session only: it ends the session of the agent's */
enum event_kind { EVENT_PRE_TOOL, EVENT_START, EVENT_END, EVENT_KINDS };

/**
 * struct agent - A row of agents.def
 */
struct agent {
	enum agent_id id;
	const char *name, *tools, *variable, *dir, *file;
};

/**
 * struct agent_event - A row of agents.def
 * @theirs:	The agent's name for it
 * @ours:	As a word of the command line
 * @matcher:	For its settings, or NULL: always
 */
struct agent_event {
	enum agent_id agent;
	enum event_kind kind;
	const char *theirs, *ours, *matcher;
};

/* By name; NULL if unknown. The names of a kind ("pre-tool-use") are known
 * for every agent that has it.
 */
const struct agent *agent_find(const char *name);
/* The @i-th; NULL behind the last */
const struct agent *agent_at(size_t i);
const struct agent_event *agent_event_find(const struct agent *agent,
					   const char *name);
/* The @i-th event that is installed for @agent; NULL past the last */
const struct agent_event *agent_event_at(const struct agent *agent, size_t i);
/* "claude, codex, ..." */
void agent_names(struct buf *out);
/* Try the name of each agent as the one that was meant */
void agent_near(struct text_near *near);
void agent_event_names(const struct agent *agent, struct buf *out);

/**
 * struct hook_call - What the agent sent
 * @root:	All of it
 * @input:	The tool's input, which holds "command"; or NULL
 * @command:	NULL where the tool runs none
 * @cwd:	Where the session is; absolute
 * @dir:	Where the command is to start; absolute. The caller's to free.
 * @mode:	The permission mode, or NULL
 * @session:	The agent's own name of its session, or NULL
 * @unsandboxed: The model asks to have no sandbox
 */
struct hook_call {
	const struct agent *agent;
	const struct agent_event *event;
	json_t *root, *input;
	const char *command, *cwd, *mode, *session;
	char *dir;
	bool unsandboxed;
};

/* Read @n bytes of @text. @cwd is for agents that do not say where they are. 0,
 * or -EINVAL with a message.
 */
int hook_call_parse(const struct agent *agent, const struct agent_event *event,
		    const char *text, size_t n, const char *cwd,
		    struct hook_call *ret, struct err *err);
void hook_call_done(struct hook_call *call);

/* The name for --session of the agent's session @id: to be freed; NULL if it has none, or
 * one that cannot be used
 */
char *hook_session_name(const struct agent *agent, const char *id);

/**
 * struct hook_wrapper - How a command is put into the sandbox
 * @program:	This very program; NULL if the agent itself runs its commands by it
 *		(claude-shell.h): then commands are not rewritten
 * @options:	Words for `cloche run`, NULL-terminated
 * @project:	The writable directory; absolute
 * @in_project:	The command starts there, and not elsewhere: only then do
 *		excludedCommands count
 * @objection:	Why the agent would not run commands by that program, or NULL
 */
struct hook_wrapper {
	const char *program;
	const char *const *options;
	const char *project;
	bool in_project;
	const char *objection;
};

/* Append the line that runs @command, to start in @dir, in the sandbox */
void hook_wrap(const struct hook_wrapper *w, const char *dir,
	       const char *command, struct buf *out);

/* If @line is what hook_wrap() makes of some command, byte for byte, that
 * command, to be freed; else NULL
 */
char *hook_unwrap(const struct hook_wrapper *w, const char *dir,
		  const char *line);

/* True if a part of @line starts a sandbox of ours */
bool hook_is_forged(const struct hook_wrapper *w, const char *line);

enum hook_verdict {
	HOOK_NO_OPINION,	/* The agent's own rules decide */
	HOOK_ALLOW,
	HOOK_ASK,
	HOOK_DENY,
};

/**
 * struct hook_decision - The verdict and the command that replaces the agent's
 * @reason:	A text for the user, or NULL with HOOK_NO_OPINION
 * @command:	To be run instead, or NULL: as it is
 */
struct hook_decision {
	enum hook_verdict verdict;
	char *reason, *command;
};

/* Decide about @call, which has a command: nothing where cloche's own settings
 * switch the sandbox off. @obey_off: Claude Code's "enabled" counts as well.
 */
void hook_decide(const struct policy *policy, const struct hook_wrapper *w,
		 const struct hook_call *call, bool obey_off,
		 struct hook_decision *ret);
void hook_decision_done(struct hook_decision *d);

/* Append the response for the agent; nothing if it needs none. 0, or -EINVAL with a
 * message: the command must then be refused.
 */
int hook_reply(const struct hook_call *call, const struct hook_decision *d,
	       struct buf *out, struct err *err);

/* Append the response to EVENT_START: @words for the agent, and for the user where the
 * agent shows them. With empty @words, the shortest valid response.
 */
int hook_reply_words(const struct hook_call *call, const char *words,
		     struct buf *out, struct err *err);

/**
 * struct hook_target - Where and what to install
 * @file:	The agent's settings
 * @project:	Where these must lie, or NULL if they are not a project's
 * @program:	This very program
 * @prefix:	The script by which the agent runs its commands; NULL: they are rewritten
 * @options:	Words for `cloche run`, NULL-terminated, maybe after --session
 * @session:	They have --session
 */
struct hook_target {
	const struct agent *agent;
	const char *file, *project, *program, *prefix;
	const char *const *options;
	bool session;
};

/* The settings that hold just our hooks, as JSON to be freed */
json_t *hook_settings(const struct hook_target *t, struct err *err);

/* "claude-shim.json", the settings of a shim, or "claude-shell-shim", the prefix in them:
 * where that is; the caller frees. NULL without a home.
 */
char *hook_shim_file(const char *name);

/* Write the settings that hold just our hooks to @t->file, in a way that no other
 * settings switch them off, and the script of the prefix; and remove both. 0, or a
 * negative errno with a message.
 */
int hook_write_settings(const struct hook_target *t, struct err *err);
void hook_remove_settings(const struct hook_target *t);
void hook_remove_script(const struct hook_target *t);

/* Add our hooks to the agent's settings, in place of earlier ones of ours. 1, 0 if
 * they were there, or a negative errno with a message.
 */
int hook_install(const struct hook_target *t, struct err *err);

/* The command line of our first hook in @t->file, to be freed; or NULL */
char *hook_command(const struct hook_target *t);

/* The directory that @variable ("NAME" or "NAME/DIR", agents.def) moves settings to, to be
 * freed; NULL if it is not set, or NULL itself
 */
char *agent_moved_dir(const char *variable);

/* Where the settings of the user for @agent are, to be freed; NULL with a message */
char *agent_settings_file(const struct agent *agent, struct err *err);

/* True if the agent's settings have hooks of ours, and for Claude Code the prefix */
bool hook_is_installed(const struct hook_target *t);

/* Take them out again. A file without other changes is as it was before,
 * byte for byte. 1, 0 if there were none, or a negative errno with a message.
 */
int hook_uninstall(const struct hook_target *t, struct err *err);

/* hook-status.c - run a harmless command as the agent would: by the script @t->prefix, or
 * by what the installed hook of @t makes of it. True if a sandbox held it.
 */
bool hook_try(const struct hook_target *t);

/* True if Codex has recorded that the user reviewed the hooks in @file */
bool hook_is_reviewed(const char *file);

/* True if a daemon of Codex runs, which still has the settings of its start */
bool hook_has_codex_daemon(void);

/* Append a line for each settings file of the project in the current directory that
 * switches Claude Code's hook or prefix off
 */
void hook_tell_switched_off(struct buf *out);

#endif /* AGENT_HOOK_H */
