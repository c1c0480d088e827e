/* SPDX-License-Identifier: Apache-2.0 */
/* policy/env-rules.c - which variables of the environment a command may see */

#include "policy/env-rules.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "policy/policy.h"

enum { SUFFIX_MIN = 5 };	/* MONKEY and BYPASS end with shorter words */

enum effect {
	SECRET,		/* Named after a command that failed: it may have missed it */
	SESSION,	/* Only -v and `explain` name it: most sessions have several */
	PLAIN,		/* Passes although a word of it looks like a secret's */
};

/* Names; "*" at the start or the end stands for any text */
static const struct row {
	enum effect effect;
	const char *pattern, *reason;
} rows[] = {
	{ SECRET, "DOCKER_AUTH_CONFIG", "holds registry passwords" },
	{ SECRET, "OP_SESSION*", "opens a password store" },
	{ SECRET, "BW_SESSION", "opens a password store" },
	{ SECRET, "KUBECONFIG", "leads to cluster credentials" },
	{ SECRET, "NETRC", "leads to passwords" },
	{ SECRET, "*_ASKPASS", "asks the user's session for passwords" },
	{ SECRET, "*_CREDENTIALS_FILE", "leads to a secret" },
	{ SESSION, "SSH_AUTH_SOCK", "an agent signs for every program that asks" },
	{ SESSION, "SSH_AGENT_PID", "an agent signs for every program that asks" },
	{ SESSION, "GPG_AGENT_INFO", "an agent signs for every program that asks" },
	{ SESSION, "GNOME_KEYRING_CONTROL", "a socket of the password store" },
	{ SESSION, "DBUS_*", "the bus starts programs outside" },
	{ SESSION, "AT_SPI_BUS_ADDRESS", "a bus that types into other programs" },
	{ SESSION, "SESSION_MANAGER", "a socket of the desktop session" },
	{ SESSION, "XDG_RUNTIME_DIR", "holds the sockets of the session" },
	{ SESSION, "DISPLAY", "a display reads all keys and types any" },
	{ SESSION, "WAYLAND_DISPLAY", "a display reads all keys and types any" },
	{ SESSION, "WAYLAND_SOCKET", "a display reads all keys and types any" },
	{ SESSION, "XAUTHORITY", "the key of the display" },
	{ SESSION, "SWAYSOCK", "starts programs outside" },
	{ SESSION, "I3SOCK", "starts programs outside" },
	{ SESSION, "HYPRLAND_INSTANCE_SIGNATURE", "starts programs outside" },
	{ SESSION, "NIRI_SOCKET", "starts programs outside" },
	{ SESSION, "TMUX", "starts programs outside" },
	{ SESSION, "STY", "starts programs outside" },
	{ SESSION, "ZELLIJ*", "starts programs outside" },
	{ SESSION, "KITTY_LISTEN_ON", "starts programs outside" },
	{ SESSION, "KITTY_PUBLIC_KEY", "starts programs outside" },
	{ SESSION, "WEZTERM_UNIX_SOCKET", "starts programs outside" },
	{ SESSION, "ALACRITTY_SOCKET", "starts programs outside" },
	{ SESSION, "NVIM", "starts programs outside" },
	{ SESSION, "NVIM_LISTEN_ADDRESS", "starts programs outside" },
	{ SESSION, "VSCODE_IPC_HOOK*", "starts programs outside" },
	{ SESSION, "VSCODE_GIT_*", "asks the editor for passwords" },
	{ SESSION, "CLAUDE_CODE_MESSAGING_*", "speaks to the agent outside" },
	{ SESSION, "DOCKER_HOST", "Docker is root outside" },
	{ SESSION, "CONTAINER_HOST", "Podman runs programs outside" },
	{ SESSION, "CONTAINERD_ADDRESS", "runs programs outside" },
	{ SESSION, "BUILDKIT_HOST", "runs programs outside" },
	{ SESSION, "WSL_INTEROP", "runs Windows programs outside" },
	{ SESSION, "NOTIFY_SOCKET", "speaks to the service manager" },
	{ SESSION, "LISTEN_*", "descriptors of the service manager" },
	{ SESSION, "PULSE_SERVER", "a socket that records sound" },
	{ SESSION, "PIPEWIRE_*", "a socket that records sound and screen" },
	{ SESSION, "LD_PRELOAD", "loads code into every program" },
	{ SESSION, "LD_AUDIT", "loads code into every program" },
	{ SESSION, "GLIBC_TUNABLES", "changes the loader" },
	{ SESSION, "GCONV_PATH", "loads code into every program" },
	{ SESSION, "CLOCHE_*", "cloche's own" },
	{ PLAIN, "PATH", "finds programs" },
	{ PLAIN, "PWD", "the start directory" },
	{ PLAIN, "OLDPWD", "the directory before" },
	{ PLAIN, "GIT_CONFIG_KEY_*", "the name of a git setting" },
	{ PLAIN, "GPG_KEY", "the name of a public key" },
	{ PLAIN, "LS_COLORS", "output preference" },
};

/* Words of a secret's name; @numbers: also where the value is only a number */
static const struct word {
	const char *text;
	size_t len;
	bool numbers;
} words[] = {
#define WORD(text, numbers) { text, sizeof(text) - 1, numbers }
	WORD("PASSWORD", true), WORD("PASSWORDS", true), WORD("PASSWD", true),
	WORD("PASSPHRASE", true), WORD("PASS", true), WORD("PWD", true),
	WORD("SECRET", true), WORD("SECRETS", true), WORD("TOKEN", false),
	WORD("TOKENS", false), WORD("KEY", false), WORD("KEYS", false),
	WORD("APIKEY", false), WORD("CREDENTIAL", false),
	WORD("CREDENTIALS", false), WORD("CREDS", false), WORD("AUTH", false),
	WORD("AUTHORIZATION", false), WORD("COOKIE", false),
	WORD("COOKIES", false), WORD("BEARER", false), WORD("JWT", false),
	WORD("PAT", false), WORD("ACCESSKEY", false), WORD("PRIVATEKEY", false),
	WORD("SECRETKEY", true),
#undef WORD
};

/* How tokens begin, and how many characters follow at least */
static const struct token {
	const char *prefix;
	size_t least;
} tokens[] = {
	{ "ghp_", 20 }, { "gho_", 20 }, { "ghu_", 20 }, { "ghs_", 20 },
	{ "ghr_", 20 }, { "github_pat_", 20 }, { "glpat-", 16 },
	{ "gldt-", 16 }, { "glrt-", 16 }, { "sk-", 20 }, { "sk_live_", 16 },
	{ "sk_test_", 16 }, { "rk_live_", 16 }, { "whsec_", 20 },
	{ "AKIA", 16 }, { "ASIA", 16 }, { "AIza", 30 }, { "ya29.", 20 },
	{ "xoxa-", 10 }, { "xoxb-", 10 }, { "xoxe-", 10 }, { "xoxp-", 10 },
	{ "xoxr-", 10 }, { "xoxs-", 10 }, { "xapp-", 10 }, { "npm_", 30 },
	{ "pypi-", 30 }, { "hf_", 30 }, { "gsk_", 30 }, { "xai-", 30 },
	{ "nvapi-", 30 }, { "SG.", 30 }, { "dop_v1_", 30 },
	{ "dckr_pat_", 16 }, { "shpat_", 20 }, { "lin_api_", 20 },
	{ "tskey-", 16 }, { "hvs.", 20 }, { "ATATT3", 30 }, { "figd_", 20 },
	{ "eyJ", 30 },
};

/* What a secret value holds, in any letters; @mark: a byte of it that most values do
 * not have
 */
static const struct {
	char mark;
	const char *text;
} texts[] = {
	{ '-', "PRIVATE KEY-----" }, { '-', "AGE-SECRET-KEY-1" },
	{ ':', "authorization:" }, { ' ', "bearer " }, { '=', "password=" },
	{ '=', "passwd=" }, { '=', "pwd=" }, { '=', "secret=" },
	{ '=', "apikey=" }, { '=', "api_key=" }, { '=', "accountkey=" },
	{ '=', "accesskey=" }, { '=', "_authtoken=" },
	{ '=', "access_token=" }, { '/', "hooks.slack.com/services/" },
	{ '/', "discord.com/api/webhooks/" },
};

bool env_is_name(const char *name, size_t n)
{
	if (!n || isdigit((unsigned char)*name))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	}
	return true;
}

static bool matches(const struct row *row, const char *name, size_t n)
{
	const char *pattern = row->pattern;
	size_t len;

	if (*pattern != *name && *pattern != '*')
		return false;	/* Nearly all of them */
	len = strlen(pattern);
	if (pattern[len - 1] == '*')
		return n >= len - 1 && !memcmp(pattern, name, len - 1);
	if (*pattern == '*')
		return n >= len - 1 &&
		       !memcmp(pattern + 1, name + n - (len - 1), len - 1);
	return n == len && !memcmp(pattern, name, n);
}

static const struct row *find_row(const char *name, size_t n)
{
	for (size_t i = 0; n && i < ARRAY_SIZE(rows); i++) {
		if (matches(&rows[i], name, n))
			return &rows[i];
	}
	return NULL;
}

static bool is_number(const char *value)
{
	return (*value && strlen(value) < 10 &&
		!value[strspn(value, "0123456789.")]) ||
	       !strcasecmp(value, "true") || !strcasecmp(value, "false");
}

/* The length of the word at @s: to the next separator, or capital behind a small
 * letter
 */
static size_t word_length(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && isalnum((unsigned char)s[i]) &&
	       !(i && isupper((unsigned char)s[i]) &&
		 islower((unsigned char)s[i - 1])))
		i++;
	return i;
}

/* The @n bytes at @s are a word of the table, or the @last of the name and end
 * with one; PGPASSWORD has no "_"
 */
static bool is_secret_word(const char *s, size_t n, bool last, bool number)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const size_t len = words[i].len;

		if ((number && !words[i].numbers) || n < len ||
		    (n > len && (!last || len < SUFFIX_MIN)))
			continue;
		if (!strncasecmp(s + n - len, words[i].text, len))
			return true;
	}
	return false;
}

bool env_is_secret_name(const char *name, size_t n, const char *value)
{
	const bool number = is_number(value);

	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = word_length(name + i, n - i);
		if (len && is_secret_word(name + i, len, i + len == n, number))
			return true;
	}
	return false;
}

/* "scheme://user:password@host" */
static bool has_url_password(const char *value)
{
	while ((value = strstr(value, "://")) != NULL) {
		const char *at, *colon;

		value += 3;
		at = value + strcspn(value, "@/?# \t\n\"'");
		colon = memchr(value, ':', (size_t)(at - value));
		if (*at == '@' && colon && colon + 1 < at)
			return true;
	}
	return false;
}

static bool has_token_at(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		const struct token *t = &tokens[i];
		size_t n = 0, digits = 0, len;

		if (*s != *t->prefix)
			continue;
		len = strlen(t->prefix);
		if (strncmp(s, t->prefix, len) != 0)
			continue;
		for (const char *c = s + len;
		     isalnum((unsigned char)*c) || (*c && strchr("_-.", *c));
		     c++, n++)
			digits += isdigit((unsigned char)*c) != 0;
		if (n >= t->least && digits)
			return true;
	}
	return false;
}

static bool has_token(const char *value)
{
	bool first[UCHAR_MAX + 1] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		first[(unsigned char)*tokens[i].prefix] = true;
	for (const char *s = value; *s; s++) {
		if (first[(unsigned char)*s] &&
		    (s == value || !isalnum((unsigned char)s[-1])) &&
		    has_token_at(s))
			return true;
	}
	return false;
}

/* strcasestr(), which takes ten times as long for a value without @mark */
static bool has_text(const char *value, const char *text, char mark)
{
	const size_t before = (size_t)(strchr(text, mark) - text);

	for (const char *at = value; (at = strchr(at, mark)) != NULL; at++) {
		if ((size_t)(at - value) >= before &&
		    !strncasecmp(at - before, text, strlen(text)))
			return true;
	}
	return false;
}

bool env_is_secret_value(const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (has_text(value, texts[i].text, texts[i].mark))
			return true;
	}
	return has_token(value) || has_url_password(value);
}

/* True if @list has the variable; with @valued, as "NAME=VALUE" */
static bool is_listed(const struct policy *policy, enum string_list list,
		      const char *name, size_t n, bool valued)
{
	const struct list_rules *rules = &policy->lists[list];

	for (size_t i = 0; i < rules->len; i++) {
		const char *text = rules->v[i].text;

		if (!strncmp(text, name, n) &&
		    (text[n] == '=' || (!valued && !text[n])))
			return true;
	}
	return false;
}

static struct env_verdict stays(bool secret, const char *reason)
{
	return (struct env_verdict){ .secret = secret, .reason = reason };
}

static struct env_verdict passes(const char *reason)
{
	return (struct env_verdict){ .pass = true, .reason = reason };
}

struct env_verdict env_decide(const struct policy *policy, const char *entry,
			      size_t n)
{
	const char *value = entry[n] ? entry + n + 1 : "";
	const struct row *row;

	if (is_listed(policy, LIST_ENV_DENY, entry, n, false))
		return is_listed(policy, LIST_ENV_SET, entry, n, true) ?
			(struct env_verdict){ .replaced = true, .reason = "stays outside; the command has another value" } :
			stays(true, "a credential by the settings");
	if (is_listed(policy, LIST_ENV_SET, entry, n, false))
		return passes("named by --env");
	if (policy->profile == PROFILE_SRT)
		return passes("profile srt passes everything");
	row = find_row(entry, n);
	if (row && row->effect == PLAIN)
		return passes(row->reason);
	if (row)
		return stays(row->effect == SECRET, row->reason);
	if (env_is_secret_name(entry, n, value))
		return stays(true, "a secret by its name");
	if (!strncmp(value, "unix:", 5))
		return stays(false, "names a socket outside");
	if (!policy_flag(policy, FLAG_PASS_ENV, false) &&
	    env_is_secret_value(value))
		return stays(true, "its value looks like a secret");
	return passes("passes by default");
}
