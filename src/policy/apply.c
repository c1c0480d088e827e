/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply.c - facts become a policy, by the types of the schema
 *
 * Theory of operation: facts come strongest first and the policy keeps the
 * first value of each scalar, so precedence needs no code of its own. Denials
 * go in before anything that opens, because a lock may ask what is denied.
 */

#include "policy/apply.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/asks.h"
#include "policy/document.h"
#include "policy/host.h"
#include "policy/locks.h"
#include "policy/number.h"
#include "policy/policy.h"
#include "policy/proxy.h"
#include "policy/schema.h"

static char *key_of(const struct fact *fact, size_t index)
{
	struct buf key = { 0 };

	buf_adds(&key, fact->key);
	if (index != APPLY_WHOLE)
		json_path_index(&key, index);
	return buf_take(&key);
}

struct origin apply_origin(const struct fact *fact, size_t index)
{
	return (struct origin){
		.source = fact->document->source,
		.key = key_of(fact, index),
	};
}

int apply_problem(const struct apply *apply, const struct fact *fact,
		  size_t index, const char *fmt, ...)
{
	auto_free char *key = key_of(fact, index);
	char words[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	return document_problem(apply->facts, fact->document, key, apply->err,
				"%s", words);
}

void apply_note_refusal(const struct apply *apply, const struct fact *fact,
			size_t index, const struct refusal *refusal)
{
	auto_free char *key = key_of(fact, index);
	auto_buf struct buf by = { 0 };

	if (!apply->facts->report)
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
	document_note(apply->facts, fact->document, NOTE_WARNING, key, "%s%s",
		      refusal->why, buf_str(&by));
}

/* True if what @fact's file asks for counts; @ret says why not */
static bool approve(const struct apply *apply, const struct fact *fact,
		    struct ask *ask, struct refusal *ret)
{
	const struct settings_request *req = apply->req;
	const struct document *document = fact->document;
	auto_free char *line = ask_line(ask);
	const char *id = document->id ? document->id : apply->id;

	*ret = (struct refusal){
		document->authority == AUTHORITY_RECORDED ?
		"ignored: changed since its first use; review: cloche trust -s FILE" :
		"ignored: not approved; review: cloche trust",
		NULL };
	ask->approved = document->pinned ||
		(req->approves &&
		 req->approves(req->approves_arg, document->authority, id,
			       line));
	if (!locks_admit_ask(apply->locks, fact, ask, apply->reader, ret)) {
		ask->refused = ret->why;
		return false;
	}
	return ask->approved;
}

bool apply_admits(const struct apply *apply, const struct fact *fact,
		  size_t index, json_t *entry)
{
	struct refusal refusal;
	struct ask ask;
	bool admitted;

	if (fact->document->authority == AUTHORITY_FULL ||
	    !ask_of(apply->asks, apply->facts, fact, entry, &ask))
		return true;
	admitted = ask.closes || approve(apply, fact, &ask, &refusal);
	if (!admitted)
		apply_note_refusal(apply, fact, index, &refusal);
	ask_done(&ask);
	return admitted;
}

static void list_ask(const struct apply *apply, const struct fact *fact,
		     json_t *entry, struct asks *ret)
{
	struct refusal unused;
	struct ask ask;

	if (!ask_of(apply->asks, apply->facts, fact, entry, &ask))
		return;
	if (ask.closes) {
		ask_done(&ask);
		return;
	}
	(void)approve(apply, fact, &ask, &unused);
	asks_add(ret, ask);
}

static void list_asks(const struct apply *apply,
		      const struct document *document, struct asks *ret)
{
	for (size_t i = 0; i < apply->facts->len; i++) {
		const struct fact *fact = &apply->facts->v[i];
		json_t *entry;
		size_t n;

		if (fact->document != document)
			continue;
		if (!ask_is_list(fact))
			list_ask(apply, fact, fact->value, ret);
		json_array_foreach(fact->value, n, entry)
			list_ask(apply, fact, entry, ret);
	}
}

void apply_find_pinned(const struct apply *apply)
{
	const char *pinned = apply->req->pinned;

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

int apply_wrong_type(const struct apply *apply, const struct fact *fact)
{
	return apply_problem(apply, fact, APPLY_WHOLE, "must be %s",
			     schema_type_words(fact->setting->type));
}

static int apply_flag(const struct apply *apply, const struct fact *fact)
{
	if (!json_is_boolean(fact->value))
		return apply_wrong_type(apply, fact);
	policy_set_flag(apply->policy, (enum policy_flag)fact->setting->slot,
			json_is_true(fact->value),
			apply_origin(fact, APPLY_WHOLE));
	return 0;
}

static int apply_number(const struct apply *apply, const struct fact *fact)
{
	uint64_t value;

	if (number_of(fact->setting->type, fact->value, &value) < 0)
		return apply_wrong_type(apply, fact);
	policy_set_number(apply->policy,
			  (enum policy_number)fact->setting->slot, value,
			  apply_origin(fact, APPLY_WHOLE));
	return 0;
}

static int apply_text(const struct apply *apply, const struct fact *fact)
{
	const char *text = json_string_value(fact->value);

	if (!text || (fact->setting->type == TYPE_TIER &&
		      strcmp(text, "full") != 0 &&
		      strcmp(text, "landlock") != 0))
		return apply_wrong_type(apply, fact);
	if (*text)
		policy_set_text(apply->policy,
				(enum policy_text)fact->setting->slot, text,
				apply_origin(fact, APPLY_WHOLE));
	return 0;
}

static int apply_proxy(const struct apply *apply, const struct fact *fact)
{
	const char *text = json_string_value(fact->value), *user;
	struct err err = { 0 };
	struct host host;
	size_t n;

	if (text && *text && proxy_parse(text, &host, &user, &n, &err) < 0)
		return apply_problem(apply, fact, APPLY_WHOLE, "%s", err.msg);
	return apply_text(apply, fact);
}

static int apply_profile(const struct apply *apply, const struct fact *fact)
{
	const char *text = json_string_value(fact->value);
	enum profile profile;

	if (!text || profile_parse(text, &profile) < 0)
		return apply_wrong_type(apply, fact);
	policy_set_profile(apply->policy, profile,
			   apply_origin(fact, APPLY_WHOLE));
	return 0;
}

static int apply_net(const struct apply *apply, const struct fact *fact)
{
	const char *text = json_string_value(fact->value);
	enum net_mode mode;

	if (!text || net_mode_parse(text, &mode) < 0)
		return apply_wrong_type(apply, fact);
	policy_set_net(apply->policy, mode, apply_origin(fact, APPLY_WHOLE));
	return 0;
}

/* Known keys that do nothing here are worth a word in `policy check` */
static int apply_unused(const struct apply *apply, const struct fact *fact)
{
	document_note(apply->facts, fact->document, NOTE_INFO, fact->key,
		      "has no effect: %s", fact->setting->words);
	return 0;
}

static int apply_nothing(const struct apply *apply, const struct fact *fact)
{
	(void)apply;
	(void)fact;
	return 0;
}

static int (*const appliers[TYPE_KINDS])(const struct apply *apply,
					 const struct fact *fact) = {
	[TYPE_FLAG] = apply_flag,
	[TYPE_COUNT] = apply_number,
	[TYPE_PORT] = apply_number,
	[TYPE_DEPTH] = apply_number,
	[TYPE_SIZE] = apply_number,
	[TYPE_DURATION] = apply_number,
	[TYPE_TEXT] = apply_text,
	[TYPE_PROXY] = apply_proxy,
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
	[TYPE_CREDENTIALS] = apply_credentials,
	[TYPE_UNUSED] = apply_unused,
	[TYPE_FOREIGN] = apply_nothing,
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
	case TYPE_REASONS:	/* Words for denials */
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

static bool is_rules_pass(const struct fact *fact, enum apply_pass pass)
{
	const bool managed = fact->document->source->scope == SCOPE_MANAGED;

	if (pass == APPLY_STICKY || pass == APPLY_PROFILE)
		return false;
	if (fact->setting->slot == RULES_ALLOW)
		return pass == APPLY_ALLOW;
	return pass == (managed ? APPLY_MANAGED : APPLY_OTHERS);
}

int apply_facts(const struct apply *apply, enum apply_pass pass)
{
	for (size_t i = 0; i < apply->facts->len; i++) {
		const struct fact *fact = &apply->facts->v[i];
		const bool rules = fact->setting->type == TYPE_RULES;
		struct refusal refusal;
		int r = 0;

		if (rules ? !is_rules_pass(fact, pass)
			  : !is_in_pass(fact, pass))
			continue;
		if (!locks_admit(apply->locks, fact, &refusal)) {
			if (pass != APPLY_STICKY)
				apply_note_refusal(apply, fact, APPLY_WHOLE,
						   &refusal);
			continue;
		}
		if (!ask_is_list(fact) &&
		    !apply_admits(apply, fact, APPLY_WHOLE, fact->value))
			continue;
		r = rules ? apply_rules(apply, fact)
			  : appliers[fact->setting->type](apply, fact);
		if (r < 0)
			return r;
	}
	return 0;
}
