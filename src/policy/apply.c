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
#include "base/own.h"
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
	return !opens(fact->setting) && managed == (pass == APPLY_MANAGED);
}

static bool is_rules_pass(const struct fact *fact, enum apply_pass pass)
{
	const bool managed = fact->document->source->scope == SCOPE_MANAGED;

	if (pass == APPLY_STICKY)
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
		if (!locks_admit(apply->locks, apply->facts, fact, &refusal)) {
			if (pass != APPLY_STICKY)
				apply_note_refusal(apply, fact, APPLY_WHOLE,
						   &refusal);
			continue;
		}
		r = rules ? apply_rules(apply, fact)
			  : appliers[fact->setting->type](apply, fact);
		if (r < 0)
			return r;
	}
	return 0;
}
