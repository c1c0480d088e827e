/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/agent-shim.c - shims that put an agent's commands, not the agent, into the sandbox
 *
 * Theory of operation: each agent can be configured to run its commands through another
 * program. Its prompt, rules and history then keep the command that the model wrote. The
 * shim uses a configuration that no repository can change:
 *
 * - Claude Code takes settings on its command line, with a prefix for its shell.
 * - Codex starts a program, its "execution environment", that runs all commands and edits
 *   of a session. A file in its home names ours; Codex's own sandbox, which does not start
 *   inside another, is off for it. The shim does not start Codex unless that file is ours:
 *   otherwise commands would have no sandbox at all. Without the shim they fail.
 * - Gemini CLI runs the first bash on its PATH. The shim puts ours there, and a hook in the
 *   user's settings refuses commands of a Gemini CLI that was started without the shim.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/claude-shell.h"
#include "agent/hook.h"
#include "agent/shim.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

/* Below hook_shim_file() */
static const char CLAUDE_SETTINGS[] = "claude-shim.json";
static const char CLAUDE_PREFIX[] = "claude-shell-shim";
static const char CODEX_PROGRAM[] = "codex-environment";
static const char CODEX_COPY[] = "codex-environments.toml";
static const char GEMINI_BASH[] = "gemini-shell/bash";

void shim_agent_done(struct shim_agent *a)
{
	buf_done(&a->before);
	buf_done(&a->args);
}

static int write_file(const char *path, const char *text, mode_t mode, struct err *err)
{
	auto_free char *dir = path_parent(path);
	auto_close int fd = fs_open_dir_p(dir, 0755, err);

	return fd < 0 ? fd : fs_replace(fd, path_base(path), text, strlen(text), mode,
					err);
}

/* Options that are about one run alone (session-client.c: check_options()) */
static bool fit_session(const char *const *options)
{
	static const char *const alone[] = { "--secret", "--ask", "--ephemeral", "--events" };

	for (size_t i = 0; options[i]; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(alone); j++) {
			if (!strncmp(options[i], alone[j], strlen(alone[j])))
				return false;
		}
	}
	return true;
}

static int make_claude(const struct hook_target *t, struct shim_agent *ret,
		       struct err *err)
{
	struct hook_target ours = *t;
	auto_free const char **words = NULL;
	size_t n = 0;
	int r;

	while (t->options[n])
		n++;
	words = mem_zalloc((n + 2) * sizeof(*words));
	words[0] = "--session";
	memcpy(words + 1, t->options, n * sizeof(*words));
	ours.session = fit_session(t->options);
	if (ours.session)
		ours.options = words;
	r = hook_write_settings(&ours, err);

	/* Behind an option Claude Code takes these verbs, which are about sessions in the
	 * background, for a prompt. Such a session keeps the settings of its own start.
	 */
	buf_adds(&ret->before, "case \"${1-}\" in\nattach|daemon|kill|logs|respawn|rm|stop) ;;\n"
		 "*) set -- --settings ");
	text_shell_quote(&ret->before, t->file);
	buf_adds(&ret->before, " \"$@\" ;;\nesac\n");
	return r;
}

static void add_toml_text(struct buf *out, const char *text)
{
	/* JSON's strings are strings of TOML */
	auto_json json_t *value = json_text(text);
	auto_free char *quoted = json_dumps(value, JSON_ENCODE_ANY);

	buf_adds(out, quoted);
}

static char *codex_file(struct err *err)
{
	auto_free char *hooks = agent_settings_file(agent_find("codex"), err);
	auto_free char *dir = hooks ? path_parent(hooks) : NULL;

	return dir ? path_join(dir, "environments.toml") : NULL;
}

static bool is_same_text(const char *file, const char *other)
{
	auto_buf struct buf a = { 0 }, b = { 0 };

	return fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &a, NULL) == 0 &&
	       fs_read(AT_FDCWD, other, JSON_TEXT_MAX, &b, NULL) == 0 &&
	       !strcmp(buf_str(&a), buf_str(&b));
}

static int make_codex(const struct hook_target *t, struct shim_agent *ret,
		      struct err *err)
{
	auto_free char *file = codex_file(err);
	auto_free char *copy = hook_shim_file(CODEX_COPY);
	auto_free char *codex = shim_find_real("codex", getenv("PATH"));
	auto_buf struct buf toml = { 0 }, script = { 0 };
	int r;

	if (!file)
		return err->code;
	if (!codex)
		return fail(err, -ENOENT, "there is no program 'codex' on $PATH");
	if (access(file, F_OK) == 0 && !is_same_text(file, copy))
		return fail(err, -EEXIST, "'%s' is there already and is not ours; remove it first",
			    file);
	buf_adds(&toml, "# Made by 'cloche shim install codex --hook'\n"
		 "default = \"cloche\"\ninclude_local = false\n\n"
		 "[[environments]]\nid = \"cloche\"\nprogram = ");
	add_toml_text(&toml, t->prefix);
	buf_adds(&toml, "\nargs = [");
	add_toml_text(&toml, codex);
	buf_adds(&toml, ", \"exec-server\", \"--listen\", \"stdio\"]\n");
	/* Its sandbox ends with the session: each refusal goes to the command's output */
	agent_shell_script(t->program, "run --quiet --annotate each", t->options, &script);
	/* A rewritten command would start a sandbox in the sandbox */
	r = hook_uninstall(&(struct hook_target){ .agent = t->agent, .file = t->file },
			   err);
	if (r < 0 || (r = write_file(t->prefix, buf_str(&script), 0755, err)) < 0 ||
	    (r = write_file(copy, buf_str(&toml), 0644, err)) < 0 ||
	    (r = write_file(file, buf_str(&toml), 0600, err)) < 0)
		return r;
	buf_adds(&ret->before, "cmp -s ");
	text_shell_quote(&ret->before, copy);
	buf_adds(&ret->before, " \"${CODEX_HOME:-$HOME/.codex}/environments.toml\" || {\n"
		 "\techo \"cloche: shim: ${CODEX_HOME:-$HOME/.codex}/environments.toml is not cloche's, so nothing would hold codex's commands; 'cloche shim install codex --hook' writes it\" >&2\n"
		 "\texit 1\n}\n");
	buf_adds(&ret->args, " -c 'sandbox_mode=\"danger-full-access\"' -c features.daemon_auto_start=false");
	return 0;
}

static int make_gemini(const struct hook_target *t, struct shim_agent *ret,
		       struct err *err)
{
	auto_free char *dir = path_parent(t->prefix);
	const int r = hook_install(t, err);

	buf_adds(&ret->before, "PATH=");
	text_shell_quote(&ret->before, dir);
	buf_adds(&ret->before, ":\"$PATH\"\nexport PATH\n");
	return r < 0 ? r : 0;
}

/* The files of @agent's shim; *@file and *@prefix are the caller's to free */
static struct hook_target target_of(const struct agent *agent, char **file, char **prefix)
{
	const bool claude = agent->id == AGENT_CLAUDE;

	*file = claude ? hook_shim_file(CLAUDE_SETTINGS) :
			 agent_settings_file(agent, NULL);
	*prefix = hook_shim_file(claude ? CLAUDE_PREFIX :
				 agent->id == AGENT_CODEX ? CODEX_PROGRAM : GEMINI_BASH);
	return (struct hook_target){ .agent = agent, .file = *file, .prefix = *prefix };
}

int shim_agent_make(const struct agent *agent, const char *program,
		    const char *const *options, struct shim_agent *ret,
		    struct err *err)
{
	static int (*const makers[AGENT_COUNT])(const struct hook_target *t,
		struct shim_agent *ret, struct err *err) = {
		[AGENT_CLAUDE] = make_claude, [AGENT_CODEX] = make_codex,
		[AGENT_GEMINI] = make_gemini,
	};
	auto_free char *file = NULL, *prefix = NULL;
	struct hook_target t;

	if (!agent || !makers[agent->id])
		return fail(err, -EINVAL, "--hook is for claude, codex and gemini; other agents have no way to run their commands by a program of ours (cloche-hook(1))");
	t = target_of(agent, &file, &prefix);
	if (!file || !prefix)
		return fail(err, -ENOENT, "there is no home directory; set $HOME");
	t.program = program;
	t.options = options;
	return makers[agent->id](&t, ret, err);
}

void shim_agent_remove(const struct agent *agent)
{
	auto_free char *file = NULL, *prefix = NULL;
	const struct hook_target t = target_of(agent, &file, &prefix);
	auto_free char *copy = hook_shim_file(CODEX_COPY);
	auto_free char *toml = codex_file(NULL);

	if (!file || !prefix)
		return;
	if (agent->id == AGENT_CODEX && toml && is_same_text(toml, copy))
		(void)unlink(toml);
	if (agent->id == AGENT_CODEX)
		(void)unlink(copy);
	if (agent->id == AGENT_GEMINI)
		(void)hook_uninstall(&t, NULL);
	else if (agent->id == AGENT_CODEX)
		hook_remove_script(&t);
	else
		hook_remove_settings(&t);
}

void shim_agent_check(const struct agent *agent, struct buf *why)
{
	auto_free char *file = NULL, *prefix = NULL;
	const struct hook_target t = target_of(agent, &file, &prefix);
	auto_free char *copy = hook_shim_file(CODEX_COPY);
	auto_free char *toml = codex_file(NULL);

	if (agent->id == AGENT_CODEX && (!toml || !copy || !is_same_text(toml, copy)))
		buf_addf(why, "%s is not cloche's, so the shim does not start codex; 'cloche shim install codex --hook' writes it",
			 toml ? toml : "environments.toml");
	else if (agent->id == AGENT_CODEX && hook_has_codex_daemon())
		buf_adds(why, "a daemon of Codex runs with the settings of its own start, and a codex that joins it runs commands there; 'codex app-server daemon stop' ends it");
	else if (agent->id == AGENT_GEMINI && !hook_is_installed(&t))
		buf_adds(why, "the hook that refuses commands of a gemini without the shim is gone; 'cloche shim install gemini --hook' installs it");
	else if (!prefix || !hook_try(&t))
		buf_addf(why, "a command through %s does not run in the sandbox; 'cloche doctor' shows why, 'cloche shim install %s --hook' installs it again",
			 prefix ? prefix : "the shim", agent->name);
}
