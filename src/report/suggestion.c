/* SPDX-License-Identifier: Apache-2.0 */
/* report/suggestion.c - the one line that would allow what was refused */

#include "report/suggestion.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/glob.h"
#include "policy/policy.h"
#include "report/footer.h"
#include "report/violation.h"

/* The list that would allow a kind of refusal; NULL where no rule helps */
static const char *const keys[VIOLATION_KINDS] = {
	[VIOLATION_FS_WRITE] = "filesystem.allowWrite",
	[VIOLATION_FS_RENAME] = "filesystem.allowWrite",
	[VIOLATION_FS_READ] = "filesystem.allowRead",
	[VIOLATION_NET_CONNECT] = "network.allowedDomains",
	[VIOLATION_NET_DNS] = "network.allowedDomains",
	[VIOLATION_NET_HTTP] = "network.allowedDomains",
	[VIOLATION_UNIX_SOCKET] = "network.allowUnixSockets",
	[VIOLATION_VARIABLE] = "env",
};

static bool is_network(enum violation_kind kind)
{
	return kind == VIOLATION_NET_CONNECT || kind == VIOLATION_NET_DNS ||
	       kind == VIOLATION_NET_HTTP;
}

/* What to write into the list. The ports of the web are the usual meaning of
 * a name; any other is named, so that no more is allowed than was asked for.
 */
static char *make_value(const struct violation *v, const char *grant)
{
	const char *colon;

	if (!is_network(v->kind))
		return mem_strdup(grant ? grant : v->target);
	colon = strrchr(v->target, ':');
	if (colon && (!strcmp(colon, ":443") || !strcmp(colon, ":80")))
		return mem_strndup(v->target, (size_t)(colon - v->target));
	return mem_strdup(v->target);
}

static bool is_plain(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	}
	return true;
}

static void add_json_text(struct buf *b, const char *s)
{
	buf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
	buf_addc(b, '"');
}

/* A rule of a settings file is removed there, nowhere else */
static void suggest_removal(struct violation *v)
{
	if (!v->suggest_edit)
		v->suggest_edit = mem_printf("remove %s from %s", v->rule_key,
					     v->rule_file);
}

static void set_rule(struct violation *v, const char *key, const char *kind,
		     const char *value)
{
	auto_buf struct buf edit = { 0 }, command = { 0 };

	/* A name that cannot be typed is not worth a command to copy; what the
	 * command called "*" would be a pattern there, and allow all the others
	 */
	if (!is_plain(value) ||
	    (!is_network(v->kind) && glob_is_pattern(value)))
		return;
	buf_addf(&edit, "sandbox.%s += ", key);
	add_json_text(&edit, value);
	v->suggest_edit = buf_take(&edit);
	buf_addf(&command, "cloche policy allow %s ", kind);
	text_shell_quote(&command, value);
	v->suggest_command = buf_take(&command);
}

void suggestion_allow(struct violation *v, const char *grant)
{
	const char *key = keys[v->kind];
	auto_free char *value = NULL;

	if (v->suggest_edit || v->suggest_command || !key ||
	    !v->target || !*v->target)
		return;
	value = make_value(v, grant);
	set_rule(v, key, violation_kind_words(v->kind), value);
}

void suggestion_unprotect(struct violation *v, const char *name)
{
	set_rule(v, "filesystem.unprotect", "unprotect", name);
}

void suggestion_nothing(struct violation *v, const char *why)
{
	auto_free char *before = v->reason;

	v->reason = mem_printf("%s; %s", before ? before : "refused", why);
}

void suggestion_fill(struct violation *v, const char *grant)
{
	if (!v->suggest_command && v->rule_file && v->rule_key)
		suggest_removal(v);
	else
		suggestion_allow(v, grant);
}

/* Programs that want an agent's socket, or a place of their own, where the path that
 * they tried would hand them the user's keys or sessions
 */
static const struct instead {
	const char *programs, *below, *words;
	const char *sockets[2];	/* Below $HOME or $NAME; the first that is there */
	const char *options;
} insteads[] = {
	{ "ssh scp sftp ssh-add", "/.ssh", "its agent signs without handing out the key",
	  { "$SSH_AUTH_SOCK" }, "" },
	{ "gpg gpg2 gpgsm", "/.gnupg", "its agent signs without handing out the key",
	  { "$XDG_RUNTIME_DIR/gnupg/S.gpg-agent", "$HOME/.gnupg/S.gpg-agent" },
	  " --read ~/.gnupg/pubring.kbx --read ~/.gnupg/trustdb.gpg" },
	{ "chrome chromium chromium-browser google-chrome firefox firefox-esr brave msedge headless_shell",
	  "/", "give the browser a profile of its own (--user-data-dir=/tmp/profile)",
	  { NULL }, NULL },
};

/* "$NAME/rest" with the value of the variable; NULL if that is not there */
static char *find_socket(const char *text)
{
	const size_t n = strcspn(text, "/");
	auto_free char *name = mem_strndup(text + 1, n - 1);
	const char *value = getenv(name);
	auto_free char *path = value && *value == '/' ?
			       mem_printf("%s%s", value, text + n) : NULL;
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISSOCK(st.st_mode) ?
	       take_ptr(path) : NULL;
}

static bool is_browser_profile(const char *target)
{
	static const char *const dirs[] = {
		"/.config/chromium", "/.config/google-chrome", "/.mozilla",
		"/.config/BraveSoftware", "/.config/microsoft-edge",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (strstr(target, dirs[i]))
			return true;
	}
	return false;
}

/* A process that writes there could log in as the user, or run programs at the next
 * login or in the browser
 */
static const char *find_dangerous(const char *target)
{
	if (strstr(target, "/.ssh/") || strstr(target, "/.gnupg/") ||
	    !strcmp(path_base(target), ".ssh") || !strcmp(path_base(target), ".gnupg"))
		return "keys and logins are there: allow it only for a command that is to change them";
	return is_browser_profile(target) ?
	       "give the browser a profile of its own instead" : NULL;
}

static const struct instead *find_instead(const struct violation *v)
{
	const char *program = v->exe ? path_base(v->exe) : "";

	for (size_t i = 0; i < ARRAY_SIZE(insteads); i++) {
		const struct instead *in = &insteads[i];

		if (text_has_word(in->programs, program) &&
		    strstr(v->target, in->below) &&
		    (in->options || is_browser_profile(v->target)))
			return in;
	}
	return NULL;
}

static const char policy_line[] = "cloche policy allow ", run_line[] = "cloche run",
		  run_end[] = " -- ";

/* What is left of @text behind @start; NULL if it starts with something else */
static const char *after(const char *text, const char *start)
{
	const size_t n = strlen(start);

	return !strncmp(text, start, n) ? text + n : NULL;
}

/* @rule, "KIND VALUE", as an option of run; NULL: there is none */
static char *rule_option(const char *rule)
{
	static const struct { const char *kind, *option; } rows[] = {
		{ "host ", "--allow" }, { "read ", "--read" }, { "write ", "--write" },
		{ "socket ", "--unix-socket" }, { "port ", "--host-port" },
		{ "variable ", "--env" }, { "address ", "--allow-ip" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = after(rule, rows[i].kind);

		if (value && strcmp(rule, "socket all") != 0)
			return mem_printf(" %s %s%s", rows[i].option, value, run_end);
	}
	return NULL;
}

/* "cloche run", the run's own options, @more, which ends in "-- ", and its command, if
 * @more does not end in one
 */
static char *repeat(const struct rerun *how, const char *more)
{
	const size_t n = strlen(more), end = strlen(run_end);

	return how->line && is_plain(how->line) ? mem_printf("%s%s%s%s", run_line, how->options, more,
				      n >= end && !strcmp(more + n - end, run_end) ?
				      how->line : "") : NULL;
}

char *suggestion_for(const char *command, const struct rerun *how)
{
	const char *rule = after(command, policy_line);
	const char *more = after(command, run_line);
	auto_free char *option = rule && how->no_settings ? rule_option(rule) : NULL;
	auto_buf struct buf line = { 0 };

	if (more)
		return repeat(how, more);
	if (rule && how->no_settings)
		return option ? repeat(how, option) : NULL;
	if (!rule || !how->project)
		return mem_strdup(command);
	buf_addf(&line, "%s--cwd ", policy_line);
	text_shell_quote(&line, how->project);
	buf_addf(&line, " %s", rule);
	return buf_take(&line);
}

/* --write takes only what is there; a rule takes what will be there as well */
static bool must_be_made(const struct violation *v, const char *rule)
{
	auto_buf struct buf value = { 0 };

	buf_adds(&value, "write ");
	if (v->target)
		text_shell_quote(&value, v->target);
	return rule && v->target && !strcmp(rule, buf_str(&value)) &&
	       access(v->target, F_OK) < 0;
}

/* As suggestion_for(); where there is no line, or it cannot be shown, the reader gets
 * the options to add
 */
static void finish_command(struct violation *v, const struct rerun *how)
{
	auto_free char *old = take_ptr(v->suggest_command);
	const char *rule = old ? after(old, policy_line) : NULL;
	auto_free char *option = rule ? rule_option(rule) : NULL;
	const char *more = old ? after(old, run_line) : NULL;
	const char *text = more ? more : option;
	const bool made = how->no_settings && must_be_made(v, rule);

	if (!old)
		return;
	v->suggest_command = made ? NULL : suggestion_for(old, how);
	if (!more && !(rule && how->no_settings))
		return;
	free(v->suggest_edit);
	v->suggest_edit = text ? mem_printf("%srun it again with%.*s", made ? "make it, and " : "",
				(int)(strstr(text, run_end) - text), text) :
			  mem_strdup("no option allows it, and with --no-settings no rule counts");
}

/* The browser's own command line with a directory of its own, where it is the command */
static void suggest_profile(struct violation *v, const char *command)
{
	const size_t n = command ? strcspn(command, " ") : 0;
	auto_free char *word = command ? mem_strndup(command, n) : NULL;

	if (word && v->exe && !strcmp(path_base(word), path_base(v->exe)) &&
	    !strstr(word, "firefox"))
		v->suggest_command = mem_printf("%s%s%s --user-data-dir=/tmp/profile%s",
						run_line, run_end, word, command + n);
}

static void warn(struct violation *v)
{
	if (v->kind == VIOLATION_FS_READ && v->suggest_command &&
	    !v->rule_file && strncmp(v->target, "/etc/", 5) != 0 &&
	    strncmp(v->target, "/run/", 5) != 0)
		suggestion_nothing(v, "allow it only if the command is to have it");
	if (v->kind == VIOLATION_FS_WRITE && v->suggest_command &&
	    find_dangerous(v->target))
		suggestion_nothing(v, find_dangerous(v->target));
	if (v->suggest_command && is_browser_profile(v->target)) {
		free(take_ptr(v->suggest_edit));
		free(take_ptr(v->suggest_command));
	}
}

/* gpg makes its directory where there is none, which it may not. In an empty one it works:
 * the sandbox has a copy of it that the command may change.
 */
static bool suggest_gnupg(struct violation *v)
{
	auto_buf struct buf line = { 0 };

	if (v->kind != VIOLATION_FS_WRITE || strcmp(path_base(v->target), ".gnupg") != 0 ||
	    access(v->target, F_OK) == 0)
		return false;
	buf_adds(&line, "mkdir -m 700 ");
	text_shell_quote(&line, v->target);
	free(take_ptr(v->suggest_edit));
	free(take_ptr(v->suggest_command));
	suggestion_nothing(v, "it is not there, and an empty one is enough");
	v->suggest_command = buf_take(&line);
	return true;
}

static void suggest_instead(struct violation *v, const struct instead *in,
			    const char *command)
{
	auto_free char *socket = NULL;
	auto_buf struct buf line = { 0 };

	free(take_ptr(v->suggest_edit));
	free(take_ptr(v->suggest_command));
	suggestion_nothing(v, in->words);
	if (!in->options)
		suggest_profile(v, command);
	for (size_t i = 0; !socket && i < 2 && in->sockets[i]; i++)
		socket = find_socket(in->sockets[i]);
	if (!socket && in->sockets[0])
		suggestion_nothing(v, "none runs, so start it first");
	if (!socket)
		return;
	buf_adds(&line, *in->options ? "cloche run --unix-socket "
				     : "cloche policy allow socket ");
	text_shell_quote(&line, socket);
	if (*in->options)
		buf_addf(&line, "%s%s", in->options, run_end);
	v->suggest_command = buf_take(&line);
}

void suggestion_finish(struct violation *v, const struct rerun *how)
{
	const bool file = v->target && (v->kind == VIOLATION_FS_READ ||
					v->kind == VIOLATION_FS_WRITE);
	const struct instead *in = file && (v->suggest_command || v->suggest_edit) ?
				   find_instead(v) : NULL;

	if (in && suggest_gnupg(v))
		return;
	if (in)
		suggest_instead(v, in, how->line);
	else if (file)
		warn(v);
	finish_command(v, how);
}

const struct list_rule *ignore_find(const struct list_rules *rules,
				      const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	for (size_t i = 0; rules && i < rules->len; i++) {
		const struct list_rule *rule = &rules->v[i];

		if (strcmp(rule->detail, "*") &&
		    (!v->command || !strstr(v->command, rule->detail)))
			continue;
		if (!line.len)
			footer_line(v, &line);
		if (strstr(buf_str(&line), rule->text))
			return rule;
	}
	return NULL;
}
