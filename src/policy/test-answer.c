/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-answer.c - what a policy says to one question, as text */

#include "policy/test-answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/env-rules.h"
#include "policy/host.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "policy/schema.h"
#include "policy/settings.h"

static void add_origin(const struct origin *origin, struct buf *out)
{
	buf_adds(out, "  <- ");
	if (!origin->source)
		buf_adds(out, "default");
	else
		origin_describe(origin, out);
	buf_addc(out, '\n');
}

static bool is_builtin(const struct origin *origin)
{
	return !origin->source || origin->source->scope == SCOPE_BUILTIN;
}

static void answer_paths(const struct path_rules *rules, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];

		if (is_builtin(&rule->origin))
			continue;
		n++;
		buf_adds(out, rule->path);
		if (rule->glob)
			buf_addf(out, " pattern %s", rule->text);
		add_origin(&rule->origin, out);
	}
	if (!n)
		buf_adds(out, rules->set ? "nothing\n" : "unset\n");
}

static void answer_list(const struct list_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->len; i++) {
		buf_adds(out, rules->v[i].text);
		add_origin(&rules->v[i].origin, out);
	}
	if (!rules->len)
		buf_adds(out, rules->set ? "nothing\n" : "unset\n");
}

static void answer_masks(const struct list_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->len; i++) {
		buf_addf(out, "mask %s", rules->v[i].text);
		add_origin(&rules->v[i].origin, out);
	}
	if (!rules->len)
		buf_adds(out, "no mask\n");
}

static void answer_ignores(const struct list_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->len; i++) {
		buf_addf(out, "%s: %s", rules->v[i].detail, rules->v[i].text);
		add_origin(&rules->v[i].origin, out);
	}
	if (!rules->len)
		buf_adds(out, "nothing\n");
}

static void answer_number(const struct number *number, struct buf *out)
{
	if (!number->set) {
		buf_adds(out, "unset\n");
		return;
	}
	buf_addf(out, "%" PRIu64, number->value);
	add_origin(&number->origin, out);
}

static void answer_text(const struct text_value *text, struct buf *out)
{
	if (!text->value) {
		buf_adds(out, "unset\n");
		return;
	}
	buf_adds(out, text->value);
	add_origin(&text->origin, out);
}

static void answer_flag(const struct flag *flag, struct buf *out)
{
	if (!flag->set) {
		buf_adds(out, "unset\n");
		return;
	}
	buf_adds(out, flag->value ? "true" : "false");
	add_origin(&flag->origin, out);
}

/* "value KEY": what became of a key of schema.def */
static void answer_value(const struct policy *p, const char *key,
			 struct buf *out)
{
	const struct setting *s = schema_find(AREA_SANDBOX, key);

	if (!s)
		s = schema_find(AREA_CLAUDE, key);
	switch (s ? s->type : TYPE_KINDS) {
	case TYPE_FLAG:
	case TYPE_TLS:
		answer_flag(&p->flags[s->slot], out);
		break;
	case TYPE_COUNT:
	case TYPE_PORT:
	case TYPE_DEPTH:
	case TYPE_SIZE:
	case TYPE_DURATION:
		answer_number(&p->numbers[s->slot], out);
		break;
	case TYPE_TEXT:
	case TYPE_PROXY:
	case TYPE_TIER:
	case TYPE_OBJECT:
		answer_text(&p->texts[s->slot], out);
		break;
	case TYPE_PROFILE:
		buf_adds(out, profile_name(p->profile));
		add_origin(&p->profile_origin, out);
		break;
	case TYPE_NET:
		buf_adds(out, net_mode_name(p->net));
		add_origin(&p->net_origin, out);
		break;
	case TYPE_PATHS:
		answer_paths(&p->paths[s->slot], out);
		break;
	case TYPE_HOSTS:
	case TYPE_STRINGS:
	case TYPE_SECRETS:
	case TYPE_PORTS:
	case TYPE_RANGES:
	case TYPE_SOCKETS:
	case TYPE_VARIABLES:
	case TYPE_COMMANDS:
	case TYPE_OBJECTS:
		answer_list(&p->lists[s->slot], out);
		break;
	case TYPE_CREDENTIALS:
		answer_masks(&p->lists[s->slot], out);
		break;
	case TYPE_IGNORES:
		answer_ignores(&p->lists[LIST_IGNORES], out);
		break;
	default:
		buf_addf(out, "no such key: %s\n", key);
	}
}

static void answer_connect(const struct policy *p, const char *target,
			   struct buf *out)
{
	struct host_verdict v;
	struct host host;

	if (host_parse_authority(target, strlen(target), 443, &host) < 0) {
		buf_adds(out, "not a host\n");
		return;
	}
	v = host_decide(p, &host, true);
	buf_addf(out, "%s: %s", v.decision == HOST_ALLOWED ? "allowed" :
		 v.decision == HOST_ASK ? "ask" : "denied", v.reason);
	if (v.rule)
		add_origin(&v.rule->origin, out);
	else
		buf_addc(out, '\n');
}

static void answer_frozen(const struct policy *p, const char *path,
			  struct buf *out)
{
	const struct path_rules *rules = &p->paths[PATH_DENY_WRITE];

	for (size_t i = 0; i < rules->len; i++) {
		if (rules->v[i].strength == RULE_ALWAYS &&
		    !strcmp(rules->v[i].path, path)) {
			buf_adds(out, "yes\n");
			return;
		}
	}
	buf_adds(out, "no\n");
}

/* "listed LIST PATH": the rules of any source that stand at exactly PATH */
static void answer_listed(const struct policy *p, const char *rest,
			  struct buf *out)
{
	const char *path = strchr(rest, ' ');
	auto_free char *key = mem_strndup(rest, strcspn(rest, " "));
	const struct setting *s = schema_find(AREA_SANDBOX, key);
	bool any = false;

	if (!s || s->type != TYPE_PATHS || !path) {
		buf_addf(out, "no such list: %s\n", rest);
		return;
	}
	for (size_t i = 0; i < p->paths[s->slot].len; i++) {
		const struct path_rule *rule = &p->paths[s->slot].v[i];

		if (strcmp(rule->path, path + 1) != 0)
			continue;
		any = true;
		buf_adds(out, "yes");
		add_origin(&rule->origin, out);
	}
	if (!any)
		buf_adds(out, "no\n");
}

static void answer_protected(const struct policy *p, const char *path,
			     struct buf *out)
{
	const struct protected_row *row = protected_match(p, path);

	buf_addf(out, row ? "yes: %s\n" : "no%s\n", row ? row->reason : "");
}

static void answer_mode(const struct policy *p, struct buf *out)
{
	const struct origin *lock = mode_lock(p);
	const struct origin *off;

	buf_adds(out, mode_name(mode_of(p)));
	if (mode_is_off(p, &off)) {
		buf_adds(out, ", off");
		add_origin(off, out);
	} else {
		buf_addc(out, '\n');
	}
	if (lock) {
		buf_adds(out, "locked");
		add_origin(lock, out);
	}
}

static void answer_notes(const struct settings_report *report,
			 struct buf *out)
{
	static const char *const levels[] = {
		"info", "warning", "warning", "error",
	};

	for (size_t i = 0; i < report->notes.len; i++)
		buf_addf(out, "%s: %s\n", levels[report->notes.v[i].level],
			 report->notes.v[i].text);
	if (!report->notes.len)
		buf_adds(out, "nothing to tell\n");
}

static void answer_files(const struct settings_report *report,
			 struct buf *out)
{
	static const char *const states[] = { "missing", "read", "bad" };

	for (size_t i = 0; i < report->files.len; i++)
		buf_addf(out, "%s %s %s\n",
			 scope_name(report->files.v[i].scope),
			 states[report->files.v[i].state],
			 report->files.v[i].path);
}

static void answer_env(const struct policy *p, const char *name,
		       struct buf *out)
{
	const struct env_verdict v = env_decide(p, name, strlen(name));

	buf_addf(out, "%s: %s\n", v.pass ? "passes" : "stays", v.reason);
}

static void answer_excluded(const struct policy *p, const char *command,
			    struct buf *out)
{
	auto_free char *why = NULL;
	const bool yes = mode_excludes(p, command, &why);

	buf_addf(out, yes ? "yes\n" : "no: %s\n", why ? why : "");
}

static const char *after(const char *question, const char *word)
{
	const size_t n = strlen(word);

	return !strncmp(question, word, n) ? question + n : NULL;
}

void answer(const struct policy *policy, const struct settings_report *report,
	    const char *question, struct buf *out)
{
	const char *rest;

	if ((rest = after(question, "value ")))
		answer_value(policy, rest, out);
	else if ((rest = after(question, "connect ")))
		answer_connect(policy, rest, out);
	else if ((rest = after(question, "frozen ")))
		answer_frozen(policy, rest, out);
	else if ((rest = after(question, "listed ")))
		answer_listed(policy, rest, out);
	else if ((rest = after(question, "protected ")))
		answer_protected(policy, rest, out);
	else if ((rest = after(question, "env ")))
		answer_env(policy, rest, out);
	else if ((rest = after(question, "excluded ")))
		answer_excluded(policy, rest, out);
	else if (!strcmp(question, "mode"))
		answer_mode(policy, out);
	else if (!strcmp(question, "project"))
		buf_addf(out, "%s\n", policy_has_project(policy) ?
			 policy->project : "none");
	else if (!strcmp(question, "files"))
		answer_files(report, out);
	else if (!strcmp(question, "notes") || !strcmp(question, "check"))
		answer_notes(report, out);
	else
		buf_addf(out, "not a question: %s\n", question);
}
