/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/lint.c - warn about valid but probably mistaken settings
 *
 * Theory of operation: one pass over the entries as they were written, one over
 * the resulting policy. Nothing here changes a verdict.
 */

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/document.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "shell/rule.h"

static bool is_one_slash(const char *text)
{
	return text[0] == '/' && text[1] != '/';
}

/* Where the path of a Read or Edit rule begins in @rule, or NULL */
static const char *rule_path(const char *rule)
{
	if (!strncmp(rule, "Read(", 5) || !strncmp(rule, "Edit(", 5))
		return rule + 5;
	return NULL;
}

/* True if @path begins with a directory of the system: in a rule, "/etc/passwd" is
 * below the settings' own directory, which its author hardly meant
 */
static bool means_the_system(const char *path)
{
	static const char tops[] =
		"bin boot dev etc home lib media mnt opt proc root run srv sys tmp usr var";
	const size_t n = strcspn(path + 1, "/");

	return path[n + 1] && text_has_bytes(tops, path + 1, n);
}

static void look_at_rule(const struct entry *e, const char *text)
{
	const char *path = rule_path(text), *meant;
	struct rule rule;

	if (rule_parse(text, ACTION_DENY, &rule, NULL) < 0)
		return;
	meant = rule_meant(&rule);
	if (meant && *meant)
		entry_warn(e, "'%s' is no tool, so this has no effect; write %s",
			   rule.name, meant);
	else if (meant)
		entry_warn(e, "no tool '%s' is known, so this has no effect on the sandbox",
			   rule.name);
	rule_done(&rule);
	if (path && is_one_slash(path) && means_the_system(path))
		entry_warn(e, "one slash starts at %s; for the system's directory write %.5s/%s",
			   e->fact->document->rules_base, text, path);
}

/* What a shell would have made another path of */
static void look_at_path(const struct entry *e, const char *text)
{
	const bool deny = e->fact->setting->type == TYPE_PATHS &&
		path_list_denies((enum path_list)e->fact->setting->slot);
	const char *doubt = path_rule_doubt(text, false);
	const bool fatal = deny && document_doubts(e->fact->document, text);
	const size_t n = strlen(text);

	if (doubt && !fatal)
		entry_warn(e, "%s", doubt);
	else if (n && (strchr(" \t", *text) || strchr(" \t", text[n - 1])))
		entry_warn(e, "begins or ends with a blank, which is taken for a part of the name");
}

static void look_at_socket(const struct entry *e, const char *text)
{
	static const char *const escapes[] = {
		"docker.sock", "podman.sock", "containerd.sock", "crio.sock",
		"system_bus_socket", "/bus", "systemd/private",
		"libvirt-sock", "lxd/unix.socket", "snapd.socket",
	};

	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
		if (!strstr(text, escapes[i]))
			continue;
		entry_warn(e, "who listens there runs programs outside of the sandbox: this is an escape");
		return;
	}
}

static void look_at_host(const struct entry *e, const char *text)
{
	struct host_pattern *pattern = host_pattern_new(text, false, NULL);
	const char *advice = pattern ? host_pattern_advice(pattern) : NULL;

	if (advice)
		entry_warn(e, "%s", advice);
	host_pattern_free(pattern);
}

static void look_at_unprotect(const struct entry *e, const char *text)
{
	size_t n;
	const struct protected_row *rows = protected_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(rows[i].name, text))
			return;
	}
	entry_warn(e, "'%s' is not a protected name", text);
}

static void look_at_entry(const struct entry *e, const char *text)
{
	switch (e->fact->setting->type) {
	case TYPE_RULES:
		look_at_rule(e, text);
		break;
	case TYPE_PATHS:
		look_at_path(e, text);
		break;
	case TYPE_SOCKETS:
		look_at_path(e, text);
		look_at_socket(e, text);
		break;
	case TYPE_HOSTS:
		if (e->fact->setting->slot == HOST_ALLOW)
			look_at_host(e, text);
		break;
	case TYPE_STRINGS:
		if (e->fact->setting->slot == LIST_UNPROTECT)
			look_at_unprotect(e, text);
		else if (e->fact->setting->slot == LIST_ENABLED_PLATFORMS &&
			 !strcasecmp(text, "linux") && strcmp(text, "linux") != 0)
			entry_warn(e, "'%s' is no platform; write linux", text);
		break;
	case TYPE_COMMANDS:
		if (*text && !text[strcspn(text, " *:")])
			entry_warn(e, "matches the bare command only; with arguments it is '%s *'",
				   text);
		break;
	default:
		break;
	}
}

/**
 * struct slashes - What a document has seen: paths with one slash of each
 * grammar
 */
struct slashes {
	const struct document *document;
	const struct fact *sandbox, *rule;
};

static void look_at_slashes(struct slashes *s, const struct entry *e,
			    const char *text)
{
	const struct fact *fact = e->fact;
	const char *path = rule_path(text);

	if (s->document != fact->document)
		*s = (struct slashes){ .document = fact->document };
	if (s->sandbox && s->rule)
		return;
	if (fact->setting->type == TYPE_RULES && path && is_one_slash(path))
		s->rule = fact;
	else if (fact->setting->type == TYPE_PATHS && is_one_slash(text))
		s->sandbox = fact;
	if (s->sandbox && s->rule)
		(void)document_note(e->facts, fact->document, NOTE_WARNING,
			      s->rule->key,
			      "this file mixes two grammars: '/x' in %s is the absolute /x, in Read(/x) and Edit(/x) it is %s/x; write //x there for the absolute one",
			      s->sandbox->key, fact->document->rules_base);
}

static void look_at_facts(const struct facts *facts)
{
	struct slashes slashes = { 0 };

	for (size_t i = 0; i < facts->len; i++) {
		struct entry e = fact_entry(facts, &facts->v[i]);

		while (entry_next(&e)) {
			const char *text = json_string_value(e.value);

			if (!text || e.index == ENTRY_WHOLE)
				continue;
			look_at_entry(&e, text);
			look_at_slashes(&slashes, &e, text);
		}
	}
}

static void warn_origin(const struct facts *facts,
			const struct origin *origin, const char *what)
{
	auto_buf struct buf where = { 0 };

	origin_describe(origin, &where);
	settings_note(facts->report, NOTE_WARNING, "%s: %s", buf_str(&where),
		      what);
}

/* About each entry of @list, or that which is @text */
static void warn_list(const struct facts *facts, const struct policy *p,
		      enum string_list list, const char *text, const char *what)
{
	for (size_t i = 0; i < p->lists[list].len; i++) {
		const struct list_rule *rule = &p->lists[list].v[i];

		if (!text || !strcmp(rule->text, text))
			warn_origin(facts, &rule->origin, what);
	}
}

static void look_at_writes(const struct facts *facts, const struct policy *p)
{
	const struct path_rules *rules = &p->paths[PATH_ALLOW_WRITE];

	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];

		if (rule->glob)
			continue;
		if (!rule->path[1])
			warn_origin(facts, &rule->origin,
				    "everything is writable; name the directories that are meant");
		else if (p->home && path_is_within(rule->path, p->home))
			warn_origin(facts, &rule->origin,
				    "the whole home directory is writable; name the directories that are meant");
	}
}

void lint_note(const struct facts *facts, const struct policy *policy)
{
	const struct flag *automatic = &policy->flags[FLAG_AUTO_ALLOW];

	look_at_facts(facts);
	look_at_writes(facts, policy);
	if (automatic->set && automatic->value &&
	    !policy_flag(policy, FLAG_ENABLED, false))
		warn_origin(facts, &automatic->origin,
			    "has no effect while the sandbox is not enabled");
	if (policy->lists[HOST_ALLOW].len)
		warn_list(facts, policy, HOST_DENY, "*",
			  "denies every host, also those that are allowed; without it all others are refused anyway");
}
