/* SPDX-License-Identifier: Apache-2.0 */
/* watch/suggest.c - the one line that would allow what was refused */

#include "watch/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/glob.h"
#include "policy/policy.h"
#include "policy/violation.h"
#include "watch/annotate.h"

/**
 * struct advice - How a kind of refusal is allowed
 * @key:	The list in the settings
 * @command:	In front of the value; NULL if no command edits that list
 */
struct advice {
	const char *key, *command;
};

static const struct advice advices[VIOLATION_KINDS] = {
	[VIOLATION_FS_WRITE] = { "sandbox.filesystem.allowWrite",
				 "cloche policy allow write " },
	[VIOLATION_FS_RENAME] = { "sandbox.filesystem.allowWrite",
				  "cloche policy allow write " },
	[VIOLATION_FS_CREATE] = { "sandbox.filesystem.unprotect", NULL },
	[VIOLATION_FS_READ] = { "sandbox.filesystem.allowRead",
				"cloche policy allow read " },
	[VIOLATION_NET_CONNECT] = { "sandbox.network.allowedDomains",
				    "cloche policy allow domain " },
	[VIOLATION_NET_DNS] = { "sandbox.network.allowedDomains",
				"cloche policy allow domain " },
	[VIOLATION_NET_HTTP] = { "sandbox.network.allowedDomains",
				 "cloche policy allow domain " },
	[VIOLATION_UNIX_SOCKET] = { "sandbox.network.allowUnixSockets",
				    "cloche run --unix-socket " },
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

	if (v->kind == VIOLATION_FS_CREATE)
		return mem_strdup(path_base(v->target));
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

/* A rule that somebody wrote is lifted where it was written, nowhere else */
static void suggest_removal(struct violation *v)
{
	if (!v->suggest_edit)
		v->suggest_edit = mem_printf("remove %s from %s", v->rule_key,
					     v->rule_file);
}

void suggest_allow(struct violation *v, const char *grant)
{
	const struct advice *advice = &advices[v->kind];
	auto_free char *value = NULL;
	auto_buf struct buf edit = { 0 }, command = { 0 };

	if (v->suggest_edit || v->suggest_command || !advice->key ||
	    !v->target || !*v->target)
		return;
	value = make_value(v, grant);
	/* A name that cannot be typed is not worth a command to copy; what the
	 * command called "*" would be a pattern there, and allow all the others
	 */
	if (!is_plain(value) ||
	    (!is_network(v->kind) && glob_is_pattern(value)))
		return;
	buf_addf(&edit, "%s += ", advice->key);
	add_json_text(&edit, value);
	v->suggest_edit = buf_take(&edit);
	if (!advice->command)
		return;
	buf_adds(&command, advice->command);
	text_shell_quote(&command, value);
	v->suggest_command = buf_take(&command);
}

void suggest_fill(struct violation *v, const char *grant)
{
	if (!v->suggest_command && v->rule_file && v->rule_key)
		suggest_removal(v);
	else
		suggest_allow(v, grant);
}

const struct ignore_rule *ignore_find(const struct ignore_rules *rules,
				      const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	for (size_t i = 0; rules && i < rules->len; i++) {
		const struct ignore_rule *rule = &rules->v[i];

		if (strcmp(rule->command, "*") &&
		    (!v->command || !strstr(v->command, rule->command)))
			continue;
		if (!line.len)
			annotate_line(v, &line);
		if (strstr(buf_str(&line), rule->text))
			return rule;
	}
	return NULL;
}
