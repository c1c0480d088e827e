/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/agent-preset.c - `--for AGENT`: a whole agent in the sandbox
 *
 * The agent gets a home of its own in the state directory, in which it keeps its
 * settings, its login and its history. Nothing outside the sandbox reads it, so that
 * writing there changes nothing that the agent's next start outside obeys. A key
 * passes as a variable; without one, the hosts that a login needs are allowed too.
 */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "run/exec-error.h"
#include "run/options.h"

enum { WORDS_MAX = 8 };

/**
 * struct preset - What one agent needs
 * @home:	The variable that moves its home; NULL: it keeps nothing
 * @below:	Where in that home it writes; "" for all of it
 * @keys:	Variables with a key
 * @env:	Variables to set
 * @hosts:	What it talks to
 * @login:	What a login without a key needs besides
 * @file, @text: Settings that its home starts with; @keyed: instead, where there is a key
 */
static const struct preset {
	const char *name, *home, *below;
	const char *keys[WORDS_MAX], *env[WORDS_MAX], *hosts[WORDS_MAX],
		*login[WORDS_MAX];
	const char *file, *text, *keyed;
} presets[] = {
	{ "claude", "CLAUDE_CONFIG_DIR", "",
	  { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN" },
	  { "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1" },
	  { "api.anthropic.com" }, { "platform.claude.com" }, NULL, NULL, NULL },
	/* Its own sandbox does not start inside ours; a daemon would outlive it */
	{ "codex", "CODEX_HOME", "",
	  { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN" }, { NULL },
	  { "api.openai.com" }, { "chatgpt.com", "auth.openai.com" },
	  "config.toml", "sandbox_mode = \"danger-full-access\"\n\n"
	  "[features]\ndaemon_auto_start = false\n", NULL },
	{ "gemini", "GEMINI_CLI_HOME", ".gemini",
	  { "GEMINI_API_KEY", "GOOGLE_API_KEY" }, { NULL },
	  { "generativelanguage.googleapis.com" },
	  { "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
	    "accounts.google.com" },
	  "settings.json", "{\"general\": {\"enableAutoUpdate\": false}}\n",
	  "{\"general\": {\"enableAutoUpdate\": false},\n"
	  " \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n" },
	{ "aider", NULL, NULL,
	  { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY",
	    "GEMINI_API_KEY", "DEEPSEEK_API_KEY" },
	  { "AIDER_ANALYTICS=false", "AIDER_CHECK_UPDATE=false" },
	  { "api.openai.com", "api.anthropic.com", "openrouter.ai",
	    "generativelanguage.googleapis.com", "api.deepseek.com" },
	  { NULL }, NULL, NULL, NULL },
};

static int add_all(struct options *options, enum option_id id,
		   const char *const words[static WORDS_MAX], struct err *err)
{
	int r = 0;

	for (int i = 0; i < WORDS_MAX && words[i] && r == 0; i++)
		r = options_add(options, id, words[i], err);
	return r;
}

/* Keys that the caller has; with @pairs just the host in a key's place. Positive if
 * there was one.
 */
static int add_keys(struct options *options, const struct preset *p, bool pairs,
		    struct err *err)
{
	int found = 0, r = 0;

	for (int i = 0; i < WORDS_MAX && p->keys[i] && r == 0; i++) {
		const char *value = getenv(p->keys[i]);

		if (!value || !*value)
			continue;
		found = 1;
		r = options_add(options, OPTION_ENV, p->keys[i], err);
		if (r == 0 && pairs)
			r = options_add(options, OPTION_ALLOW, p->hosts[i], err);
	}
	return r < 0 ? r : found;
}

/* The agent's own home, made if it is not there */
static int add_home(struct options *options, const struct preset *p, bool keyed,
		    struct err *err)
{
	const char *text = keyed && p->keyed ? p->keyed : p->text;
	auto_free char *state = fs_xdg("XDG_STATE_HOME", ".local/state");
	auto_free char *home = state ? mem_printf("%s/cloche-agents/%s", state,
						  p->name) : NULL;
	auto_free char *dir = home && *p->below ? path_join(home, p->below) :
			      home ? mem_strdup(home) : NULL;
	auto_free char *variable = home ? mem_printf("%s=%s", p->home, home) : NULL;
	auto_close int fd = -1;
	int r = 0;

	if (!dir)
		return fail(err, -ENOENT, "--for: there is no home directory; set $HOME");
	fd = fs_open_dir_p(dir, 0700, err);
	if (fd < 0)
		return fd;
	if (p->file && faccessat(fd, p->file, F_OK, 0) < 0)
		r = fs_replace(fd, p->file, text, strlen(text), 0600, err);
	if (r == 0)
		r = options_add(options, OPTION_WRITE, dir, err);
	return r < 0 ? r : options_add(options, OPTION_ENV, variable, err);
}

/* An agent from npm is more than one file: show all of that node_modules */
static int add_program(struct options *options, const char *name, struct err *err)
{
	static const char modules[] = "/node_modules/";
	auto_free char *found = exec_error_find(name, getenv("PATH"), "/");
	char real[PATH_MAX];
	char *at;

	if (!found || !realpath(found, real) || !(at = strstr(real, modules)))
		return 0;
	at[strlen(modules) - 1] = '\0';
	return options_add(options, OPTION_READ, real, err);
}

int options_expand(struct options *options, struct err *err)
{
	const char *name = options_get(options, OPTION_FOR);
	const struct preset *p = NULL;
	auto_buf struct buf names = { 0 };
	int r, keys;

	if (!name)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", presets[i].name);
		if (!strcmp(presets[i].name, name))
			p = &presets[i];
	}
	if (!p)
		return fail(err, -EINVAL, "--for: '%s' is not one of %s", name,
			    buf_str(&names));
	r = options_add(options, OPTION_PROFILE, "home", err);
	if (r == 0)
		r = add_program(options, p->name, err);
	if (r == 0)
		r = add_all(options, OPTION_ENV, p->env, err);
	if (r < 0)
		return r;
	keys = add_keys(options, p, !p->home, err);
	if (keys < 0)
		return keys;
	if (p->home)
		r = add_home(options, p, keys, err);
	if (r == 0 && (p->home || !keys))
		r = add_all(options, OPTION_ALLOW, p->hosts, err);
	return r < 0 || keys ? r : add_all(options, OPTION_ALLOW, p->login, err);
}
