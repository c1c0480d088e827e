/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply.c - facts become a policy, by the types of the schema
 *
 * Theory of operation: facts come strongest first and the policy keeps the
 * first value of each scalar, so precedence needs no code of its own. Denials
 * go in before anything that opens, because a lock may ask what is denied.
 */

#include "policy/apply.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/host.h"
#include "policy/policy.h"

void apply_note_refusal(const struct entry *entry,
			const struct refusal *refusal)
{
	auto_buf struct buf by = { 0 };

	if (!entry->facts->report)
		return;
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

/* True if what @entry's file asks for counts; @ret says why not */
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

bool apply_admits(const struct apply *apply, const struct entry *entry)
{
	struct refusal refusal;
	struct ask ask;
	bool admitted;

	if (entry->fact->document->authority == AUTHORITY_FULL ||
	    !ask_of(apply->asks, entry, &ask))
		return true;
	admitted = ask.closes || approve(apply, entry, &ask, &refusal);
	if (!admitted)
		apply_note_refusal(entry, &refusal);
	ask_done(&ask);
	return admitted;
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
			asks_add(ret, ask);
		}
	}
}

void apply_find_pinned(const struct apply *apply, const char *pinned)
{
	for (size_t i = 0; pinned && i < apply->facts->documents.len; i++) {
		struct document *d = apply->facts->documents.v[i];
		char digest[ASK_DIGEST_SIZE];
		struct asks asks = { 0 };

		if (d->authority == AUTHORITY_FULL)
			continue;
		list_asks(apply, d, &asks);
		asks_digest(&asks, digest);
		d->pinned = strstr(pinned, digest) != NULL;
		asks_done(&asks);
	}
}

void apply_report_asks(const struct apply *apply)
{
	const char *top = apply->asks->top;
	const size_t n = strlen(top);

	for (size_t i = 0; apply->facts->report &&
			   i < apply->facts->documents.len; i++) {
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

int apply_wrong_type(const struct entry *entry)
{
	return entry_problem(entry, "must be %s", schema_type_words(
			     entry->fact->setting->type));
}

static int apply_flag(const struct apply *apply, const struct entry *whole)
{
	if (!json_is_boolean(whole->value))
		return apply_wrong_type(whole);
	policy_set_flag(apply->policy,
			(enum policy_flag)whole->fact->setting->slot,
			json_is_true(whole->value), entry_origin(whole));
	return 0;
}

static int apply_number(const struct apply *apply, const struct entry *whole)
{
	const struct setting *setting = whole->fact->setting;
	uint64_t value;

	if (schema_number(setting->type, whole->value, &value) < 0)
		return apply_wrong_type(whole);
	policy_set_number(apply->policy, (enum policy_number)setting->slot,
			  value, entry_origin(whole));
	return 0;
}

static int apply_text(const struct apply *apply, const struct entry *whole)
{
	const struct setting *setting = whole->fact->setting;
	const char *text = json_string_value(whole->value), *user;
	struct err err = { 0 };
	struct host host;
	size_t n;

	if (!text || (setting->type == TYPE_TIER && strcmp(text, "full") != 0 &&
		      strcmp(text, "landlock") != 0))
		return apply_wrong_type(whole);
	if (!*text)
		return 0;
	if (setting->type == TYPE_PROXY &&
	    proxy_parse(text, &host, &user, &n, &err) < 0)
		return entry_problem(whole, "%s", err.msg);
	policy_set_text(apply->policy, (enum policy_text)setting->slot, text,
			entry_origin(whole));
	return 0;
}

static int apply_profile(const struct apply *apply, const struct entry *whole)
{
	const char *text = json_string_value(whole->value);
	enum profile profile;

	if (!text || profile_parse(text, &profile) < 0)
		return apply_wrong_type(whole);
	policy_set_profile(apply->policy, profile, entry_origin(whole));
	return 0;
}

static int apply_net(const struct apply *apply, const struct entry *whole)
{
	const char *text = json_string_value(whole->value);
	enum net_mode mode;

	if (!text || net_mode_parse(text, &mode) < 0)
		return apply_wrong_type(whole);
	policy_set_net(apply->policy, mode, entry_origin(whole));
	return 0;
}

/* Known keys that do nothing here are worth a note in `policy check` */
static int apply_unused(const struct apply *apply, const struct entry *whole)
{
	document_note(apply->facts, whole->fact->document, NOTE_INFO,
		      whole->fact->key, "has no effect: %s",
		      whole->fact->setting->words);
	return 0;
}

static int (*const appliers[TYPE_KINDS])(const struct apply *apply,
					 const struct entry *whole) = {
	[TYPE_FLAG] = apply_flag,
	[TYPE_COUNT] = apply_number,
	[TYPE_PORT] = apply_number,
	[TYPE_DEPTH] = apply_number,
	[TYPE_SIZE] = apply_number,
	[TYPE_DURATION] = apply_number,
	[TYPE_TEXT] = apply_text,
	[TYPE_PROXY] = apply_text,
	[TYPE_TIER] = apply_text,
	[TYPE_PROFILE] = apply_profile,
	[TYPE_NET] = apply_net,
	[TYPE_PATHS] = apply_list,
	[TYPE_HOSTS] = apply_list,
	[TYPE_STRINGS] = apply_list,
	[TYPE_PORTS] = apply_list,
	[TYPE_RANGES] = apply_list,
	[TYPE_SOCKETS] = apply_list,
	[TYPE_VARIABLES] = apply_list,
	[TYPE_COMMANDS] = apply_list,
	[TYPE_REASONS] = apply_reasons,
	[TYPE_IGNORES] = apply_ignores,
	[TYPE_TLS] = apply_tls,
	[TYPE_CREDENTIALS] = apply_list,
	[TYPE_RULES] = apply_list,
	[TYPE_UNUSED] = apply_unused,
};

/* True for what can only be applied once every denial is known */
static bool opens(const struct setting *setting)
{
	switch (setting->type) {
	case TYPE_PATHS:
		return setting->slot == PATH_ALLOW_READ ||
		       setting->slot == PATH_ALLOW_WRITE;
	case TYPE_HOSTS:
		return setting->slot == HOST_ALLOW;
	case TYPE_RULES:
		return setting->slot == RULES_ALLOW;
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
	for (size_t i = 0; i < apply->facts->len; i++) {
		const struct fact *fact = &apply->facts->v[i];
		struct entry whole = fact_entry(apply->facts, fact);
		struct refusal refusal;
		int r = 0;

		whole.value = fact->value;
		if (!appliers[fact->setting->type] || !is_in_pass(fact, pass))
			continue;
		if (!managed_admit(apply->locks, fact, &refusal)) {
			if (pass != APPLY_STICKY)
				apply_note_refusal(&whole, &refusal);
			continue;
		}
		if (json_is_array(fact->value) || apply_admits(apply, &whole))
			r = appliers[fact->setting->type](apply, &whole);
		if (r < 0)
			return r;
	}
	return 0;
}
