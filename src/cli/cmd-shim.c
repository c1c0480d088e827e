/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-shim.c - cloche shim: a program's own name runs it in the sandbox */

#include <stdio.h>
#include <stdlib.h>

#include "agent/hook.h"
#include "agent/shim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"

static void print_installed(struct shim s, bool hook)
{
	auto_free char *dir = path_parent(s.path);
	auto_buf struct buf quoted = { 0 };

	terminal_line(stdout, hook ? "%s: runs %s, and its commands in the sandbox" :
		      "%s: runs %s in the sandbox", s.path, s.real);
	if (shim_state(&s, getenv("PATH")) != SHIM_BYPASSED)
		return;
	text_shell_quote(&quoted, dir);
	terminal_line(stderr, "cloche: shim: not used yet: add this to the start of your shell: export PATH=%s:\"$PATH\"",
		buf_str(&quoted));
}

/* What the agent does not do in this way */
static void print_limits(const struct agent *agent)
{
	if (agent->id == AGENT_CODEX)
		stderr_line("cloche: shim: in this way Codex asks before commands only in projects that are not trusted (trust_level = \"untrusted\" in its config.toml), starts no MCP servers of the kind \"command\", and a '!' line ends it; started without the shim, its commands fail");
	if (agent->id == AGENT_GEMINI)
		stderr_line("cloche: shim: started without the shim, Gemini CLI is refused every command by cloche's hook in its settings");
}

int cmd_shim_install(struct call *call, struct err *err)
{
	const bool hook = call_flag(call, "hook");
	const struct agent *agent = hook ? agent_find(call->args[0]) : NULL;
	const char *const *options = (const char *const *)call->given.v;
	auto_json json_t *row = NULL;
	struct shim_agent how = { 0 };
	auto_free char *self = own_path();
	int r = hook ? shim_agent_make(agent, self, options, &how, err) : 0;

	if (r == 0) {
		r = shim_install(self, call->args[0], call_flag(call, "dir"), options,
				 hook ? &how : NULL, &row, err);
		if (r < 0 && hook)
			shim_agent_remove(agent);
	}
	if (r == 0)
		print_installed(shim_of(row), hook);
	if (r == 0 && hook)
		print_limits(agent);
	shim_agent_done(&how);
	return r;
}

int cmd_shim_remove(struct call *call, struct err *err)
{
	const struct agent *agent = agent_find(call->args[0]);
	int r;

	r = shim_remove(call->args[0], err);
	if (r == 0 && agent && agent->id != AGENT_CURSOR)
		shim_agent_remove(agent);
	if (r == 0)
		terminal_line(stdout, "%s: removed", call->args[0]);
	return r;
}

static const char *words_of(enum shim_state state)
{
	static const char *const words[] = {
		[SHIM_OK] = "in use",
		[SHIM_BYPASSED] = "BYPASSED: $PATH leads past it",
		[SHIM_CHANGED] = "CHANGED: the file is not ours any more",
		[SHIM_GONE] = "GONE: the file is not there",
		[SHIM_NO_PROGRAM] = "the program is gone",
	};

	return words[state];
}

static void print_row(const struct shim *s, const char *state)
{
	const char *const fields[] = { s->name, s->path, s->real };
	auto_buf struct buf line = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		text_escape(&line, fields[i]);
		buf_addc(&line, '\t');
	}
	printf("%s%s\n", buf_str(&line), state);
}

int cmd_shim_list(struct call *call, struct err *err)
{
	const bool json = call_flag(call, "json");
	auto_json json_t *rows = json_array();
	auto_json json_t *all = shim_read_list(err);
	bool bad = false;

	for (size_t i = 0; i < json_array_size(all); i++) {
		const struct shim s = shim_of(json_array_get(all, i));
		const enum shim_state state = shim_state(&s, getenv("PATH"));

		bad |= state != SHIM_OK;
		if (!json)
			print_row(&s, words_of(state));
		(void)json_array_append_new(rows, json_pack(
			"{s:o, s:o, s:o, s:s}", "name", json_text(s.name),
			"path", json_text(s.path), "real",
			json_text(s.real), "state", shim_state_name(state)));
	}
	if (json && all)
		print_json(json_pack("{s:i, s:O}", "version", 1, "shims", rows),
			   JSON_INDENT(2));
	return all ? bad : err->code;
}
