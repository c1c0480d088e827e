/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-mcp.c - cloche mcp: MCP servers of agents in the sandbox
 *
 * A server has a policy of its own: an empty home, a project that it cannot write, and no
 * network but the registry that npx and uvx fetch its program from. The user adds what
 * else it needs.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/claude-shell.h"
#include "agent/mcp.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "learn/proposal.h"
#include "run/exec-error.h"

/* What fetches a server's program before it runs it, and from whose registry */
static const struct { const char *name; enum tool tool; } launchers[] = {
	{ "npx", TOOL_NPM }, { "npm", TOOL_NPM }, { "pnpm", TOOL_NPM },
	{ "yarn", TOOL_NPM }, { "bunx", TOOL_NPM }, { "uvx", TOOL_PIP },
	{ "uv", TOOL_PIP }, { "pipx", TOOL_PIP },
};

static void add_word(struct strings *to, const char *word)
{
	*vec_push(to) = mem_strdup(word);
}

static void add_registry(const char *command, const char *cwd, struct strings *ret)
{
	auto_proposal struct proposal found = { 0 };
	auto_free char *home = fs_home();

	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
		if (!strcmp(path_base(command), launchers[i].name))
			found.used[launchers[i].tool] = mem_strdup(command);
	}
	proposal_ask_tools(&found, cwd, home);
	for (size_t i = 0; i < found.hosts.len; i++) {
		if (found.hosts.v[i].own) {
			add_word(ret, "--allow");
			add_word(ret, found.hosts.v[i].entry);
		}
	}
}

/* Words for run: what every server gets unless the user says otherwise */
static void add_defaults(const struct options *given, struct strings *ret)
{
	add_word(ret, "--quiet");
	if (!options_has(given, OPTION_PROFILE) && !options_has(given, OPTION_FOR)) {
		add_word(ret, "--profile");
		add_word(ret, "home");
	}
	/* All of it, wherever in the project the agent starts the server */
	if (!options_has(given, OPTION_WRITE))
		add_word(ret, "--read-only");
}

/* Claude Code rewrites its file while it runs, from what it has in memory. Returns one
 * of our processes that is it and sees @file; or 0.
 */
static pid_t find_claude(const char *file)
{
	auto_closedir DIR *d = opendir("/proc");
	const struct dirent *e;
	struct stat own, st;

	if (!d || stat(file, &own) < 0)
		return 0;
	while ((e = readdir(d))) {
		auto_free char *comm = mem_printf("/proc/%s/comm", e->d_name);
		auto_free char *seen = mem_printf("/proc/%s/root%s", e->d_name, file);
		auto_buf struct buf name = { 0 };

		if (isdigit((unsigned char)*e->d_name) &&
		    fs_read(AT_FDCWD, comm, NAME_MAX, &name, NULL) == 0 &&
		    !strcmp(buf_str(&name), "claude\n") &&
		    stat(seen, &st) == 0 && st.st_dev == own.st_dev &&
		    st.st_ino == own.st_ino)
			return (pid_t)strtol(e->d_name, NULL, 10);
	}
	return 0;
}

/* Append @words as they are typed, without the values of variables */
static void add_shown(char *const *words, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const bool value = i && !strcmp(words[i - 1], "--env");
		auto_free char *shown = mem_strndup(words[i], value ?
			strcspn(words[i], "=") : strlen(words[i]));
		auto_buf struct buf quoted = { 0 };

		if (!strncmp(words[i], "--env=", 6))
			shown[6 + strcspn(shown + 6, "=")] = '\0';
		text_shell_quote(&quoted, shown);
		buf_addc(out, ' ');
		text_escape(out, buf_str(&quoted));
	}
}

typedef int (*server_fn)(struct call *call, const struct mcp_file *file,
			 const struct mcp_server *s, const char *cwd, struct err *err);

/* Do @one to each server of @file that the call names, or to all. 0, or a negative
 * errno with a message.
 */
static int for_file(struct call *call, const struct mcp_file *file, const char *cwd,
		    server_fn one, struct err *err)
{
	auto_servers struct mcp_servers all = { 0 };
	int r = mcp_read(file, &all, err);
	const pid_t claude = all.len && !strcmp(path_base(file->path), ".claude.json") ?
			     find_claude(file->path) : 0;

	if (claude)
		r = fail(err, -EBUSY, "mcp: Claude Code is running (process %d) and would write its own copy of %s; end it first",
			 (int)claude, file->path);
	for (int i = 1; i < call->count && r == 0; i++) {
		const struct mcp_server *s = mcp_server_find(&all, call->args[i]);

		r = s ? one(call, file, s, cwd, err) :
		    fail(err, -ENOENT, "%s: there is no server '%s'; 'cloche mcp status' lists them",
			 file->path, call->args[i]);
	}
	for (size_t i = 0; i < all.len && call->count <= 1 && r == 0; i++) {
		if (all.v[i].command.to)
			r = one(call, file, &all.v[i], cwd, err);
	}
	if (r == 0 && !all.len && (call->count || access(file->path, F_OK) == 0))
		terminal_line(stdout, "%s: has no MCP servers", file->path);
	return r;
}

/* The same for the file of the agent that the call names, or of all agents: then what
 * is wrong with one file is printed, and the others follow
 */
static int for_each(struct call *call, struct err *err, server_fn one)
{
	const char *name = call_flag(call, "scope");
	const enum mcp_scope scope = mcp_scope_find(name ? name : "user");
	const char *agent = call->count ? call->args[0] : NULL;
	auto_free char *cwd = getcwd(NULL, 0);
	struct mcp_file file;
	bool known = false, found = false, none = true;
	int r = cwd ? 0 : fail_errno(err, "cannot tell the current directory"), failed = 0;

	for (size_t i = 0; r == 0 && mcp_file_at(i, cwd, &file); i++) {
		const bool named = !agent || !strcmp(file.agent, agent);

		known |= named;
		found |= named && file.scope == scope;
		none &= !found || access(file.path, F_OK) < 0;
		if (named && file.scope == scope)
			r = for_file(call, &file, cwd, one, err);
		if (r < 0 && !agent) {
			stderr_line("cloche: %s", err->msg);
			failed = 1;
			r = 0;
		}
		mcp_file_done(&file);
	}
	if (r == 0 && !known)
		r = fail(err, -EINVAL, "mcp %s: '%s' is not one of claude, codex, gemini, cursor, vscode",
			 call->name, agent);
	else if (r == 0 && !found)
		r = fail(err, -EINVAL, "mcp: --scope %s is not a scope of %s", name,
			 agent ? agent : "any agent");
	else if (r == 0 && !agent && none)
		puts("There are no settings of claude, codex, gemini, cursor or vscode.");
	return r < 0 ? r : failed;
}

static int wrap_one(struct call *call, const struct mcp_file *file,
		    const struct mcp_server *s, const char *cwd, struct err *err)
{
	const size_t first = mcp_wrapped_at(file, s);
	auto_free char *self = own_path();
	auto_strings struct strings options = { 0 };
	auto_buf struct buf shown = { 0 };
	int r = 0;

	add_defaults(&call->options, &options);
	for (size_t i = 0; call->given.v[i]; i++)
		add_word(&options, call->given.v[i]);
	if (s->words.len && !options_has(&call->options, OPTION_NET))
		add_registry(s->words.v[first], cwd, &options);
	add_shown(options.v, options.len, &shown);
	*vec_push(&options) = NULL;
	/* "All" does not undo a choice that was made for one server */
	if (!first || call->count > 1)
		r = mcp_wrap(file, s->name, self, (const char *const *)options.v, err);
	if (r > 0)
		terminal_line(stdout, "%s %s: starts in the sandbox from now on:%s",
			      file->agent, s->name, buf_str(&shown));
	else if (r == 0)
		terminal_line(stdout, "%s %s: starts in the sandbox already",
			      file->agent, s->name);
	return r < 0 ? r : 0;
}

int cmd_mcp_wrap(struct call *call, struct err *err)
{
	const char *scope = call_flag(call, "scope");
	const int r = for_each(call, err, wrap_one);

	if (r == 0 && scope && !strcmp(scope, "project"))
		stderr_line("cloche: mcp: the file is the repository's, so your options are kept outside of it: others who use it start these servers without them");
	return r;
}

static int unwrap_one(struct call *call, const struct mcp_file *file,
		      const struct mcp_server *s, const char *cwd, struct err *err)
{
	const int r = mcp_unwrap(file, s->name, err);

	(void)cwd;
	if (r > 0)
		terminal_line(stdout, "%s %s: starts as before", file->agent, s->name);
	else if (r == 0 && call->count > 1)
		terminal_line(stdout, "%s %s: is not wrapped", file->agent, s->name);
	return r < 0 ? r : 0;
}

int cmd_mcp_unwrap(struct call *call, struct err *err)
{
	return for_each(call, err, unwrap_one);
}

/* @command starts this very program; a relative path is the project's */
static bool is_self(const char *command)
{
	auto_free char *self = own_path();
	auto_free char *found = strchr(command, '/') ? mem_strdup(command) :
		exec_error_find(command, getenv("PATH"), "/");
	auto_free char *real = found && *found == '/' ? realpath(found, NULL) : NULL;
	auto_free char *own = realpath(self, NULL);

	return real && own && !strcmp(real, own);
}

/* Why the server would run outside, or NULL */
static const char *find_objection(const struct mcp_file *file,
				  const struct mcp_server *s)
{
	if (s->odd)
		return "the entry is not understood";
	if (!mcp_wrapped_at(file, s))
		return "";
	if (!is_self(s->words.v[0]))
		return "what it starts is not this program";
	if (file->scope == MCP_PROJECT)
		return mcp_steering_variable(s) ?
		       "its entry sets a variable that cloche obeys" : NULL;
	return NULL;
}

/* One line or row about @s; true if it runs outside */
static bool print_server(const struct mcp_file *file, const struct mcp_server *s,
			 const char *cwd, json_t *rows)
{
	const size_t first = mcp_wrapped_at(file, s);
	const char *objection = s->command.to ? find_objection(file, s) : NULL;
	const char *state = !s->command.to ? "remote" : objection ? "outside" : "sandbox";
	auto_buf struct buf shown = { 0 };
	auto_strings struct strings mine = { 0 };

	if (!objection && first && file->scope == MCP_PROJECT) {
		if (!mcp_options_of(cwd, s->name, s->words.v + first,
				    s->words.len - first, &mine))
			add_defaults(&(struct options){ 0 }, &mine);
		add_shown(mine.v, mine.len, &shown);
	} else if (!objection && first) {
		add_shown(s->words.v + 2, first - 3, &shown);
	}
	if (rows)
		json_array_append_new(rows, json_pack(
			"{s:s, s:s, s:o, s:o, s:s, s:o}", "agent", file->agent,
			"scope", mcp_scope_name(file->scope),
			"file", json_text(file->path), "server", json_text(s->name),
			"state", state, "options", json_text(buf_str(&shown))));
	else if (!s->command.to)
		terminal_line(stdout, "%s %s (%s): not started by a command",
			      file->agent, s->name, mcp_scope_name(file->scope));
	else if (objection)
		terminal_line(stdout, "%s %s (%s): OUTSIDE the sandbox%s%s",
			      file->agent, s->name, mcp_scope_name(file->scope),
			      *objection ? ": " : "", objection);
	else
		terminal_line(stdout, "%s %s (%s): in the sandbox:%s", file->agent,
			      s->name, mcp_scope_name(file->scope), buf_str(&shown));
	return objection;
}

int cmd_mcp_status(struct call *call, struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_json json_t *rows = call_flag(call, "json") ? json_array() : NULL;
	struct mcp_file file;
	bool outside = false, known = !call->count;
	int r = cwd ? 0 : fail_errno(err, "cannot tell the current directory");

	for (size_t i = 0; r == 0 && mcp_file_at(i, cwd, &file); i++) {
		auto_servers struct mcp_servers all = { 0 };

		if (!call->count || !strcmp(call->args[0], file.agent)) {
			known = true;
			r = mcp_read(&file, &all, err);
		}
		for (size_t k = 0; r == 0 && k < all.len; k++)
			outside |= print_server(&file, &all.v[k], cwd, rows);
		mcp_file_done(&file);
	}
	if (r == 0 && !known)
		r = fail(err, -EINVAL, "mcp status: '%s' is not one of claude, codex, gemini, cursor, vscode",
			 call->args[0]);
	if (rows && r == 0)
		print_json(json_pack("{s:i, s:O}", "version", 1, "servers", rows),
			   JSON_INDENT(2));
	return r < 0 ? r : outside;
}

/* What the entry of a project's file may not decide comes from the agent's own
 * environment
 */
static int restore_environment(struct err *err)
{
	extern char **environ;
	auto_buf struct buf own = { 0 };
	auto_strings struct strings names = { 0 };
	const pid_t agent = agent_process(getppid());
	const int r = agent_environment(agent, &own);

	if (r < 0)
		return fail(err, r, "mcp: cannot read the environment of the agent, process %d",
			    (int)agent);
	for (char **v = environ; *v; v++)
		*vec_push(&names) = mem_strndup(*v, strcspn(*v, "="));
	for (size_t i = 0; i < names.len; i++) {
		const char *value = agent_variable(&own, names.v[i]);

		if (!mcp_is_steering(names.v[i]))
			continue;
		if (value)
			(void)setenv(names.v[i], value, 1);
		else
			(void)unsetenv(names.v[i]);
	}
	return 0;
}

static int not_built(const struct err *err)
{
	stderr_line("cloche: %s", err->msg);
	return EXIT_NOT_BUILT;
}

int cmd_mcp_start(struct call *call, struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	struct strings words = { 0 };
	int r = restore_environment(err);

	if (r == 0 && !cwd)
		r = fail_errno(err, "cannot tell the current directory");
	if (r < 0)
		return not_built(err);
	add_word(&words, "run");
	if (!mcp_options_of(cwd, call->args[0], call->args + 1,
			    (size_t)call->count - 1, &words)) {
		add_defaults(&(struct options){ 0 }, &words);
		stderr_line("cloche: mcp: '%s' has no options of yours here; 'cloche mcp wrap' gives it some",
			    call->args[0]);
	}
	add_word(&words, "--");
	for (int i = 1; i < call->count; i++)
		add_word(&words, call->args[i]);
	*vec_push(&words) = NULL;
	r = call_run(verb_find("run"), (int)words.len - 1, words.v, err);
	return r < 0 ? not_built(err) : r;
}
