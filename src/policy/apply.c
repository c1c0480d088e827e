/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply.c - apply the facts of settings files to a policy
 *
 * Theory of operation: facts come strongest first and the policy keeps the first
 * value of each scalar. Denials are applied before grants, because a grant is refused
 * where a stronger file denies the path.
 *
 * An agent's permission rules are about its tools. Three of them change the sandbox:
 * Edit(path) grants and denies writing, Read(path) denies reading,
 * WebFetch(domain:host) grants and denies hosts. All rules go into the policy's rule
 * set as well, which the hooks of agents apply to each command.
 */

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/document.h"
#include "policy/managed.h"
#include "policy/permission.h"
#include "policy/policy.h"

/* Report that @entry is ignored, and why */
static void note_refusal(const struct entry *entry,
			 const struct refusal *refusal)
{
	auto_buf struct buf by = { 0 };

	if (refusal->by) {
		const struct origin origin = {
			.source = refusal->by->document->source,
			.key = refusal->by->key,
		};

		buf_adds(&by, " (");
		origin_describe(&origin, &by);
		buf_adds(&by, ")");
	}
	entry_warn(entry, "%s%s", refusal->why, buf_str(&by));
}

/* True if the request of @entry is granted; else the reason is in @ret */
static bool approve(const struct apply *apply, const struct entry *entry,
		    struct ask *ask, struct refusal *ret)
{
	const struct document *document = entry->fact->document;
	auto_free char *line = ask_line(ask);

	*ret = (struct refusal){
		document->authority == AUTHORITY_RECORDED ?
		"ignored: changed since its first use; review: cloche trust -s FILE" :
		"ignored: not approved; review: cloche trust",
		NULL };
	ask->approved = document->pinned ||
		(apply->approves &&
		 apply->approves(apply->arg, document->authority,
				 document->id ? document->id : apply->id,
				 line));
	if (!managed_admit_ask(apply->locks, entry->fact, ask, ret)) {
		ask->refused = ret->why;
		return false;
	}
	return ask->approved;
}

/* True if @v applies: the file has authority, or the user approved it */
static bool is_approved(const struct apply *apply, const struct entry *entry,
			struct value *v)
{
	struct refusal refusal;

	if (entry->fact->document->authority == AUTHORITY_FULL ||
	    v->ask.kind == ASK_NOTHING || v->ask.closes ||
	    approve(apply, entry, &v->ask, &refusal))
		return true;
	note_refusal(entry, &refusal);
	return false;
}

static void list_asks(const struct apply *apply,
		      const struct document *document, struct asks *ret)
{
	for (size_t i = 0; i < apply->facts->len; i++) {
		struct entry e = fact_entry(apply->facts, &apply->facts->v[i]);
		struct refusal unused;
		struct ask ask;

		while (e.fact->document == document && entry_next(&e)) {
			if (!ask_of(apply->asks, &e, &ask))
				continue;
			if (ask.closes) {
				ask_done(&ask);
				continue;
			}
			(void)approve(apply, &e, &ask, &unused);
			*vec_push(ret) = ask;
		}
	}
}

void apply_find_pinned(const struct apply *apply, const char *pinned)
{
	for (size_t i = 0; pinned && i < apply->facts->documents.len; i++) {
		struct document *d = apply->facts->documents.v[i];
		char digest[ASK_DIGEST_SIZE];
		auto_asks struct asks asks = { 0 };

		if (d->authority == AUTHORITY_FULL)
			continue;
		list_asks(apply, d, &asks);
		asks_digest(&asks, digest);
		d->pinned = strstr(pinned, digest) != NULL;
	}
}

void apply_report_asks(const struct apply *apply)
{
	const char *top = apply->asks->top;
	const size_t n = strlen(top);

	for (size_t i = 0; i < apply->facts->documents.len; i++) {
		const struct document *d = apply->facts->documents.v[i];
		const char *name = d->source->name;
		const bool below = d->authority == AUTHORITY_REPOSITORY &&
				   path_is_below(top, name);
		struct settings_source source = { .authority = d->authority };

		if (d->authority == AUTHORITY_FULL)
			continue;
		source.name = mem_strdup(below ? name + n + (n > 1) : name);
		source.id = mem_strdup(d->id ? d->id : apply->id);
		list_asks(apply, d, &source.asks);
		*vec_push(&apply->facts->report->sources) = source;
	}
}

/* True unless a stronger scope denies the path */
static bool admits_path(const struct apply *apply, const struct entry *e,
			const struct value *v)
{
	struct refusal refusal;

	if (managed_admit_path(apply->locks, e->fact->document->source->scope,
			       v->path.path, v->path.glob, &refusal))
		return true;
	note_refusal(e, &refusal);
	return false;
}

static int add_path(const struct apply *apply, const struct entry *e,
		    struct value *v, enum path_list list, struct err *why)
{
	if (!path_list_denies(list) && !admits_path(apply, e, v))
		return 0;
	v->path.strength = RULE_USER;
	v->path.origin = entry_origin(e);
	return policy_take_path(apply->policy, list, &v->path, why);
}

/* Apply what a rule means for the sandbox. A rule without a specifier allows or denies
 * a tool of the agent and changes nothing here; reads are granted by allowRead, not by
 * rules.
 */
static int add_rule(const struct apply *apply, const struct entry *e,
		    struct value *v, struct err *why)
{
	const struct rule *rule = &v->rule;
	const bool deny = rule->action == ACTION_DENY;
	struct refusal refusal = { .why = rule->inert };
	int r = 0;

	if (rule->inert) {
		note_refusal(e, &refusal);
	} else if (rule->action == ACTION_ASK) {
		;
	} else if (rule->kind == RULE_PATH && (deny || rule->tool != TOOL_READ)) {
		r = add_path(apply, e, v, rule->tool == TOOL_READ ? PATH_DENY_READ :
			     deny ? PATH_DENY_WRITE : PATH_ALLOW_WRITE, why);
	} else if (rule->kind == RULE_DOMAIN) {
		if (deny || managed_admit_host(apply->locks, e->fact, &refusal))
			r = policy_add_host(apply->policy, deny ? HOST_DENY
							        : HOST_ALLOW,
					    rule->content, NULL, entry_origin(e),
					    why);
		else
			note_refusal(e, &refusal);
	}
	if (r == 0)
		permission_add(apply->policy->ruleset, &v->rule, entry_origin(e));
	return r;
}

/* A masked variable with hosts becomes a bound secret. Any other mask keeps its whole
 * entry as JSON. A repository's entry binds nothing, even if it was approved: the value
 * is the user's.
 */
static int bind_mask(const struct apply *apply, const struct entry *e,
		     const char *name, struct err *why)
{
	const enum string_list list = (enum string_list)e->fact->setting->slot;
	const json_t *hosts = json_object_get(e->value, "injectHosts");
	auto_free char *mask = json_dumps(e->value, JSON_COMPACT);
	auto_buf struct buf text = { 0 };

	if (e->fact->document->authority != AUTHORITY_FULL)
		return 0;
	if (list == LIST_MASKED_FILES || !json_array_size(hosts) ||
	    json_object_get(e->value, "extract") ||
	    json_object_get(e->value, "decode")) {
		if (mask)
			(void)policy_set_reason(apply->policy, list, name, mask);
		return 0;
	}
	buf_adds(&text, name);
	for (size_t i = 0; i < json_array_size(hosts); i++)
		buf_addf(&text, "%c%s", i ? ',' : '@',
			 json_string_value(json_array_get(hosts, i)));
	return policy_add_string(apply->policy, LIST_SECRETS, text.p,
				 entry_origin(e), why);
}

static int add_credential(const struct apply *apply, const struct entry *e,
			  struct value *v, struct err *why)
{
	const bool file = e->fact->setting->slot == LIST_MASKED_FILES;
	auto_free char *name = mem_strdup(file ? v->path.path : v->text);
	int r;

	r = file ? add_path(apply, e, v, PATH_DENY_READ, why) :
	    policy_add_string(apply->policy, LIST_ENV_DENY, name,
			      entry_origin(e), why);
	if (r == 0 && v->mask)
		r = policy_add_string(apply->policy,
				      (enum string_list)e->fact->setting->slot,
				      name, entry_origin(e), why);
	if (r == 0 && v->mask)
		r = bind_mask(apply, e, name, why);
	return r;
}

/* Add certificate authorities for bound hosts. A repository must not name one: it could
 * impersonate every host.
 */
static int add_authorities(const struct apply *apply, const struct entry *e,
			   struct err *why)
{
	const json_t *paths = json_object_get(e->value, "extraCaCertPaths");
	int r = 0;

	if (e->fact->document->authority != AUTHORITY_FULL)
		return 0;
	for (size_t i = 0; !r && i < json_array_size(paths); i++)
		r = policy_add_string(apply->policy, LIST_SECRET_CAS,
				      json_string_value(json_array_get(paths, i)),
				      entry_origin(e), why);
	return r;
}

static int add_reasons(const struct apply *apply, const struct entry *whole)
{
	struct entry e = *whole;
	json_t *value;

	json_object_foreach(whole->value, e.member, value) {
		const char *reason = json_string_value(value);
		int r = 0;

		if (!reason || !*reason)
			r = entry_problem(&e, "must be a text that is not empty");
		else if (!policy_set_reason(apply->policy, HOST_DENY, e.member,
					    reason))
			entry_warn(&e, "is not an entry of network.deniedDomains");
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_ignores(const struct apply *apply, const struct entry *whole)
{
	struct entry e = *whole;
	json_t *list, *value;
	size_t i;
	int r = 0;

	json_object_foreach(whole->value, e.member, list) {
		if (!json_is_array(list))
			r = entry_problem(&e, "must be a list of texts");
		json_array_foreach(list, i, value) {
			const char *text = json_string_value(value);
			struct err why = { 0 };

			if (!text || !*text)
				r = entry_problem(&e, "must be a list of texts that are not empty");
			else if (policy_add_ignore(apply->policy, e.member, text,
						   entry_origin(whole), &why) < 0)
				r = entry_problem(&e, "%s", why.msg);
			if (r < 0)
				return r;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* {NAME: {"hosts": [...], ...}} as "NAME@HOST,HOST"; what limits a request stays JSON */
static int add_secrets(const struct apply *apply, const struct entry *e,
		       struct err *why)
{
	struct policy *policy = apply->policy;
	const char *name;
	json_t *secret;

	json_object_foreach(e->value, name, secret) {
		const json_t *hosts = json_object_get(secret, "hosts");
		const char *from = json_get_text(secret, "from");
		auto_buf struct buf text = { 0 };
		auto_free char *limits = json_dumps(secret, JSON_COMPACT);
		int r;

		buf_adds(&text, name);
		for (size_t i = 0; i < json_array_size(hosts); i++)
			buf_addf(&text, "%c%s", i ? ',' : '@',
				 json_string_value(json_array_get(hosts, i)));
		r = policy_add_string(policy, LIST_SECRETS, text.p,
				      entry_origin(e), why);
		if (!r && from) {
			auto_free char *source = mem_printf("%s=%s", name, from);

			r = policy_add_string(policy, LIST_SECRET_SOURCES, source,
					      entry_origin(e), why);
		}
		if (r < 0)
			return r;
		if (limits && json_object_size(secret) > 1)
			(void)policy_set_reason(policy, LIST_SECRETS, text.p,
						limits);
	}
	return 0;
}

static int add_object(const struct apply *apply, const struct entry *e,
		      struct err *why)
{
	const struct setting *row = e->fact->setting;
	auto_free char *text =
		json_dumps(e->value, JSON_COMPACT | JSON_SORT_KEYS);

	if (row->type == TYPE_OBJECTS)
		return policy_add_string(apply->policy,
					 (enum string_list)row->slot, text,
					 entry_origin(e), why);
	policy_set_text(apply->policy, (enum policy_text)row->slot, text,
			entry_origin(e));
	return 0;
}

static int add_value(const struct apply *apply, const struct entry *e,
		     struct value *v, struct err *why)
{
	const struct setting *row = e->fact->setting;
	struct policy *policy = apply->policy;
	int r;

	switch (row->type) {
	case TYPE_TLS:
		if ((r = add_authorities(apply, e, why)) < 0)
			return r;
		__attribute__((fallthrough));
	case TYPE_FLAG:
		policy_set_flag(policy, (enum policy_flag)row->slot, v->number,
				entry_origin(e));
		return 0;
	case TYPE_COUNT:
	case TYPE_PORT:
	case TYPE_DEPTH:
	case TYPE_SIZE:
	case TYPE_DURATION:
		policy_set_number(policy, (enum policy_number)row->slot,
				  v->number, entry_origin(e));
		return 0;
	case TYPE_TEXT:
	case TYPE_PROXY:
	case TYPE_TIER:
		if (*v->text)
			policy_set_text(policy, (enum policy_text)row->slot,
					v->text, entry_origin(e));
		return 0;
	case TYPE_PROFILE:
		policy_set_profile(policy, (enum profile)v->number,
				   entry_origin(e));
		return 0;
	case TYPE_NET:
		policy_set_net(policy, (enum net_mode)v->number,
			       entry_origin(e));
		return 0;
	case TYPE_PATHS:
		return add_path(apply, e, v, (enum path_list)row->slot, why);
	case TYPE_HOSTS:
		return policy_add_host(policy, (enum string_list)row->slot,
				       v->text, NULL, entry_origin(e), why);
	case TYPE_RULES:
		return add_rule(apply, e, v, why);
	case TYPE_CREDENTIALS:
		return add_credential(apply, e, v, why);
	case TYPE_OBJECT:
	case TYPE_OBJECTS:
		return add_object(apply, e, why);
	case TYPE_REASONS:
		return add_reasons(apply, e);
	case TYPE_IGNORES:
		return add_ignores(apply, e);
	case TYPE_SECRETS:
		return json_is_object(e->value) ?
			       add_secrets(apply, e, why) :
			       policy_add_string(policy, LIST_SECRETS, v->text,
						 entry_origin(e), why);
	case TYPE_UNUSED:	/* `policy check` lists it */
		return document_note(apply->facts, e->fact->document, NOTE_INFO,
				     e->fact->key, "has no effect: %s",
				     row->words);
	case TYPE_FOREIGN:
		return 0;
	default:
		return row->type == TYPE_SOCKETS && !admits_path(apply, e, v) ? 0 :
			policy_add_string(policy, (enum string_list)row->slot,
					  v->text, entry_origin(e), why);
	}
}

static int apply_entry(const struct apply *apply, const struct entry *e)
{
	struct err why = { 0 };
	struct value v;
	int r;

	r = value_read(apply->asks, e,
		       e->fact->document->authority != AUTHORITY_FULL, &v, &why);
	if (r == -ENODATA) {
		entry_warn(e, "%s", why.msg);
		return 0;
	}
	if (r == 0) {
		if (is_approved(apply, e, &v))
			r = add_value(apply, e, &v, &why);
		else
			why.code = 0;
		value_done(&v);
	}
	return why.code ? entry_problem(e, "%s", why.msg) : r;
}

static int apply_fact(const struct apply *apply, const struct fact *fact)
{
	struct entry e = fact_entry(apply->facts, fact);
	const struct setting *row = fact->setting;
	int r = 0;

	/* The list was written, even if as [] */
	if (json_is_array(fact->value) &&
	    fact->document->authority == AUTHORITY_FULL) {
		if (row->type == TYPE_PATHS)
			apply->policy->paths[row->slot].set = true;
		else if (row->type >= TYPE_HOSTS && row->type <= TYPE_COMMANDS)
			apply->policy->lists[row->slot].set = true;
	}
	while (r == 0 && entry_next(&e))
		r = apply_entry(apply, &e);
	return r;
}

/* True for grants: they are applied once every denial is known */
static bool opens(const struct setting *setting)
{
	switch (setting->type) {
	case TYPE_PATHS:
	case TYPE_HOSTS:
	case TYPE_RULES:
		return setting->ask != ASK_NOTHING;
	case TYPE_SOCKETS:
	case TYPE_REASONS:	/* Reasons of denials */
		return true;
	default:
		return false;
	}
}

static bool is_sticky(const struct fact *fact)
{
	const bool trusted =
		!scope_is_repository(fact->document->source->scope);

	switch (fact->setting->guard) {
	case GUARD_STICKY_FALSE:
		return trusted && json_is_false(fact->value);
	case GUARD_STICKY_TRUE:
		return trusted && json_is_true(fact->value);
	case GUARD_ANY_TRUE:
		return json_is_true(fact->value);
	default:
		return false;
	}
}

static bool is_in_pass(const struct fact *fact, enum apply_pass pass)
{
	const bool managed = fact->document->source->scope == SCOPE_MANAGED;

	if (pass == APPLY_STICKY)
		return is_sticky(fact);
	if (pass == APPLY_ALLOW)
		return opens(fact->setting);
	if (fact->setting->type == TYPE_PROFILE)
		return pass == (managed ? APPLY_MANAGED : APPLY_PROFILE);
	if (pass == APPLY_PROFILE)
		return false;
	return !opens(fact->setting) && managed == (pass == APPLY_MANAGED);
}

int apply_facts(const struct apply *apply, enum apply_pass pass)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < apply->facts->len; i++) {
		const struct fact *fact = &apply->facts->v[i];
		struct entry whole = fact_entry(apply->facts, fact);
		struct refusal refusal;

		if (!is_in_pass(fact, pass))
			continue;
		if (managed_admit(apply->locks, fact, &refusal))
			r = apply_fact(apply, fact);
		else if (pass != APPLY_STICKY)
			note_refusal(&whole, &refusal);
	}
	return r;
}
