/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-shim.c - cloche shim: a program's own name runs it in the sandbox */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void print_installed(const struct shim *s)
{
	auto_free char *dir = path_parent(s->path);
	auto_buf struct buf quoted = { 0 };

	terminal_line(stdout, "%s: runs %s in the sandbox", s->path, s->real);
	if (shim_state(s, getenv("PATH")) != SHIM_BYPASSED)
		return;
	text_shell_quote(&quoted, dir);
	terminal_line(stderr, "cloche: shim: not used yet: add this to the start of your shell: export PATH=%s:\"$PATH\"",
		buf_str(&quoted));
}

static int write_settings(const struct call *call, const char *self, const char *file,
			  const char *prefix, struct err *err)
{
	const struct hook_target target = {
		.agent = agent_find(call->args[0]), .file = file, .program = self,
		.prefix = prefix, .options = (const char *const *)call->given.v,
	};

	if (!target.agent || target.agent->id != AGENT_CLAUDE)
		return fail(err, -EINVAL, "--hook is for claude; other agents take no settings on their command line");
	return file && prefix ? hook_write_settings(&target, err) :
	       fail(err, -ENOENT, "there is no home directory; set $HOME");
}

static void remove_settings(void)
{
	auto_free char *file = hook_shim_file("claude-shim.json");
	auto_free char *prefix = hook_shim_file("claude-shell-shim");

	if (file && prefix)
		hook_remove_settings(&(struct hook_target){
			.file = file, .prefix = prefix });
}

int cmd_shim_install(struct call *call, struct err *err)
{
	const bool hook = call_flag(call, "hook");
	struct shim shim = { 0 };
	auto_free char *self = own_path();
	auto_free char *file = hook_shim_file("claude-shim.json");
	auto_free char *prefix = hook_shim_file("claude-shell-shim");
	int r = hook ? write_settings(call, self, file, prefix, err) : 0;

	if (r < 0)
		return r;
	r = shim_install(self, call->args[0],
			 call_flag(call, "dir"),
			 (const char *const *)call->given.v, hook ? file : NULL,
			 &shim, err);
	if (r < 0 && hook)
		remove_settings();
	if (r == 0)
		print_installed(&shim);
	shim_done(&shim);
	return r;
}

int cmd_shim_remove(struct call *call, struct err *err)
{
	int r;

	r = shim_remove(call->args[0], err);
	if (r == 0 && !strcmp(call->args[0], "claude"))
		remove_settings();
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
	json_t *rows = json_array();
	struct shim_list all = { 0 };
	bool bad = false;
	int r = shim_read_list(&all, err);

	for (size_t i = 0; i < all.len && r == 0; i++) {
		const struct shim *s = &all.v[i];
		const enum shim_state state = shim_state(s, getenv("PATH"));

		bad |= state != SHIM_OK;
		if (!json)
			print_row(s, words_of(state));
		(void)json_array_append_new(rows, json_pack(
			"{s:o, s:o, s:o, s:s}", "name", json_text(s->name),
			"path", json_text(s->path), "real",
			json_text(s->real), "state", shim_state_name(state)));
	}
	if (json && r == 0)
		print_json(json_pack("{s:i, s:O}", "version", 1, "shims", rows),
			   JSON_INDENT(2));
	json_decref(rows);
	shim_list_done(&all);
	return r < 0 ? r : bad;
}
