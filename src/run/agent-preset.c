/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/agent-preset.c - `--for AGENT`: a whole agent in the sandbox
 *
 * The agent gets a home of its own in the state directory, in which it keeps its
 * settings, its login and its history. Nothing outside the sandbox reads it, so that
 * writing there changes nothing that the agent's next start outside obeys. A key
 * passes as a variable; without one, the hosts that a login needs are allowed too.
 *
 * `--for AGENT,shared` shows the user's own home of the agent instead. Its login, its
 * history and its settings are those of outside, so what the next start outside obeys
 * (settings, hooks, plugins, instructions) stays read-only there: these are rows of
 * policy/defaults.c, which hold for every --write of such a home.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "run/exec-error.h"
#include "run/options.h"

enum { WORDS_MAX = 16 };

/**
 * struct preset - What one agent needs
 * @home:	The variable that moves its home; NULL: it keeps nothing
 * @below:	Where in that home it writes; "" for all of it
 * @keys:	Variables with a key
 * @env:	Variables to set
 * @hosts:	What it talks to
 * @login:	What a login without a key needs besides
 * @file, @text: Settings that its home starts with; @keyed: instead, where there is a key
 * @shared:	Its home below the user's; NULL: there is none to share
 * @seen:	Read-only beside that, if it is there
 * @state:	What it writes in @shared, made if it is not there (a name with a dot is a
 *		file); nothing: all of it
 * @tokens:	Its login in @shared, opened only where there is no key
 */
static const struct preset {
	const char *name, *home, *below;
	const char *keys[WORDS_MAX], *env[WORDS_MAX], *hosts[WORDS_MAX],
		*login[WORDS_MAX];
	const char *file, *text, *keyed;
	const char *shared, *seen, *state[WORDS_MAX], *tokens[WORDS_MAX];
} presets[] = {
	{ "claude", "CLAUDE_CONFIG_DIR", "",
	  { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN" },
	  { "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1" },
	  { "api.anthropic.com" }, { "platform.claude.com" }, NULL, NULL, NULL,
	  ".claude", ".claude.json",
	  { "projects", "sessions", "session-env", "shell-snapshots", "file-history",
	    "todos", "tasks", "plans", "backups", "cache", "debug", "telemetry",
	    "statsig", "history.jsonl" }, { ".credentials.json" } },
	/* Its own sandbox does not start inside ours; a daemon would outlive it */
	{ "codex", "CODEX_HOME", "",
	  { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN" }, { NULL },
	  { "api.openai.com" }, { "chatgpt.com", "auth.openai.com" },
	  "config.toml", "sandbox_mode = \"danger-full-access\"\n\n"
	  "[features]\ndaemon_auto_start = false\n", NULL,
	  ".codex", NULL, { NULL }, { "auth.json" } },
	{ "gemini", "GEMINI_CLI_HOME", ".gemini",
	  { "GEMINI_API_KEY", "GOOGLE_API_KEY" }, { NULL },
	  { "generativelanguage.googleapis.com" },
	  { "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
	    "accounts.google.com" },
	  "settings.json", "{\"general\": {\"enableAutoUpdate\": false}}\n",
	  "{\"general\": {\"enableAutoUpdate\": false},\n"
	  " \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n",
	  ".gemini", NULL, { NULL },
	  { "oauth_creds.json", "google_accounts.json", "gemini-credentials.json" } },
	{ "aider", NULL, NULL,
	  { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY",
	    "GEMINI_API_KEY", "DEEPSEEK_API_KEY" },
	  { "AIDER_ANALYTICS=false", "AIDER_CHECK_UPDATE=false" },
	  { "api.openai.com", "api.anthropic.com", "openrouter.ai",
	    "generativelanguage.googleapis.com", "api.deepseek.com" },
	  { NULL }, NULL, NULL, NULL, NULL, NULL, { NULL }, { NULL } },
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

bool options_is_agents_key(const char *name, size_t n)
{
	/* What each sets for the commands that it runs */
	static const char *const markers[] = {
		"CLAUDECODE", "CODEX_CI", "GEMINI_CLI", "CURSOR_AGENT",
	};
	bool by_agent = false;

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++)
		by_agent = by_agent || getenv(markers[i]);
	for (size_t i = 0; by_agent && i < ARRAY_SIZE(presets); i++) {
		const char *const *keys = presets[i].keys;

		for (int j = 0; j < WORDS_MAX && keys[j]; j++) {
			if (strlen(keys[j]) == n && !strncmp(keys[j], name, n))
				return true;
		}
	}
	return false;
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

/* Make what the agent writes in its shared home @dir, and open it */
static int add_state(struct options *options, const struct preset *p, const char *dir,
		     struct err *err)
{
	auto_close int home = fs_open_dir_p(dir, 0700, err);
	int r = 0;

	if (home < 0)
		return home;
	if (!p->state[0])
		return options_add(options, OPTION_WRITE, dir, err);
	r = options_add(options, OPTION_READ, dir, err);
	for (int i = 0; i < WORDS_MAX && p->state[i] && r == 0; i++) {
		const char *name = p->state[i];
		auto_free char *path = path_join(dir, name);
		auto_close int fd = strchr(name, '.') ?
			openat(home, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
			       O_CLOEXEC, 0600) : fs_open_dir_p(path, 0700, err);

		if (fd < 0)
			return err->code ? err->code :
			       fail_errno(err, "--for: cannot make '%s'", path);
		r = options_add(options, OPTION_WRITE, path, err);
	}
	return r;
}

/* What lies in @dir and is there: to be read, and with @write also written */
static int add_existing(struct options *options, const char *dir, const char *name,
			bool write, struct err *err)
{
	auto_free char *path = path_join(dir, name);
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	r = options_add(options, OPTION_READ, path, err);
	return r < 0 || !write ? r : options_add(options, OPTION_WRITE, path, err);
}

/* The user's own home of the agent */
static int add_shared(struct options *options, const struct preset *p, bool keyed,
		      struct err *err)
{
	const char *moved = p->home ? getenv(p->home) : NULL;
	auto_free char *home = fs_home();
	auto_free char *dir = home && p->shared ? path_join(home, p->shared) : NULL;
	int r;

	if (!p->shared)
		return fail(err, -EINVAL, "--for: %s has no home that could be shared; use --for %s",
			    p->name, p->name);
	if (!dir)
		return fail(err, -ENOENT, "--for: there is no home directory; set $HOME");
	/* The read-only rows are about the usual place */
	if (moved && *moved)
		return fail(err, -EINVAL, "--for %s,shared shares '%s', but $%s names another home; unset it",
			    p->name, dir, p->home);
	r = add_state(options, p, dir, err);
	if (r == 0 && p->seen)
		r = add_existing(options, home, p->seen, false, err);
	for (int i = 0; !keyed && i < WORDS_MAX && p->tokens[i] && r == 0; i++)
		r = add_existing(options, dir, p->tokens[i], true, err);
	return r;
}

/* Claude Code renews a login by a lock and a file beside it, in its home, which is read-only
 * unless the user opens it: only names that its next start does not obey are writable.
 * With the lock alone it would use the login up and lose the new one.
 */
char *options_login_note(const struct options *options)
{
	const char *name = options_get(options, OPTION_FOR);
	auto_free char *home = fs_home();
	auto_free char *dir = home ? path_join(home, ".claude") : NULL;
	auto_free char *file = dir ? path_join(dir, ".credentials.json") : NULL;
	auto_json json_t *root = NULL;
	const json_t *end;
	bool open = false;

	if (!name || !file || strcmp(name, "claude,shared") != 0)
		return NULL;
	for (size_t i = 0; i < options->len; i++) {
		const struct option_value *v = &options->v[i];

		if (v->id == OPTION_WRITE && path_is_within(v->value, dir))
			return NULL;
		open = open || (v->id == OPTION_WRITE && !strcmp(v->value, file));
	}
	root = open ? json_read(AT_FDCWD, file, NULL) : NULL;
	end = json_object_get(json_object_get(root, "claudeAiOauth"), "expiresAt");
	return json_is_integer(end) &&
	       json_integer_value(end) < (json_int_t)now_ms(CLOCK_REALTIME) ?
	       mem_printf("the login in %s has expired, and Claude Code does not renew it here: start claude once without cloche, or add --write %s",
			  dir, dir) : NULL;
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
	const size_t n = name ? strcspn(name, ",") : 0;
	const bool shared = name && !strcmp(name + n, ",shared");
	const struct preset *p = NULL;
	auto_buf struct buf names = { 0 };
	int r, keys;

	options->given = options->len;
	if (!name)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", presets[i].name);
		if ((shared || !name[n]) && strlen(presets[i].name) == n &&
		    !strncmp(presets[i].name, name, n))
			p = &presets[i];
	}
	if (!p)
		return fail(err, -EINVAL, "--for: '%s' is not one of %s, or AGENT,shared",
			    name, buf_str(&names));
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
	if (shared)
		r = add_shared(options, p, keys, err);
	else if (p->home)
		r = add_home(options, p, keys, err);
	if (r == 0 && (p->home || !keys))
		r = add_all(options, OPTION_ALLOW, p->hosts, err);
	return r < 0 || keys ? r : add_all(options, OPTION_ALLOW, p->login, err);
}
