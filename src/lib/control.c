/* SPDX-License-Identifier: Apache-2.0 */
/* lib/control.c - the lines that come in on --control-fd */

#include "lib/control.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/srt.h"

static enum control_kind parse_answer(const json_t *answer,
				      struct control_answer *ret,
				      struct err *err)
{
	const json_t *id = json_object_get(answer, "id");
	const json_t *allow = json_object_get(answer, "allow");
	const char *scope = json_string_value(json_object_get(answer, "scope"));

	/* Only a true true is a yes */
	if (!json_is_integer(id) || !json_is_boolean(allow) ||
	    json_integer_value(id) < 0 ||
	    json_integer_value(id) > UINT32_MAX) {
		fail(err, -EINVAL, "an answer needs \"id\" and \"allow\"");
		return CONTROL_BAD;
	}
	*ret = (struct control_answer){
		.id = (uint32_t)json_integer_value(id),
		.allow = json_is_true(allow),
		.always = scope && !strcmp(scope, "always"),
	};
	ret->scope = ret->always || (scope && !strcmp(scope, "session")) ?
		     ASK_SESSION : ASK_ONCE;
	return CONTROL_ANSWER;
}

/* The rules of @from that a line can't replace */
static int keep_rules(struct policy *to, const struct policy *from,
		      enum host_list list, struct err *err)
{
	const struct host_rules *rules = &from->hosts[list];
	int r = 0;

	for (size_t i = 0; !r && i < rules->len; i++) {
		const struct host_rule *rule = &rules->v[i];
		const struct source *source = rule->origin.source;

		/* srt's lines replace the denials as well */
		if ((list == HOST_ALLOW || from->profile == PROFILE_SRT) &&
		    (!source || source->scope != SCOPE_MANAGED))
			continue;
		r = policy_add_host(to, list, rule->text, rule->reason,
				    origin_copy(&rule->origin), err);
	}
	return r;
}

static int add_list(struct policy *p, enum host_list list, const json_t *values,
		    const struct source *source, const char *name,
		    struct err *err)
{
	size_t i;
	json_t *value;

	if (values && !json_is_array(values))
		return fail(err, -EINVAL, "%s is not a list", name);
	json_array_foreach(values, i, value) {
		int r;

		if (!json_is_string(value))
			return fail(err, -EINVAL, "%s[%zu] is not a string",
				    name, i);
		r = policy_add_host(p, list, json_string_value(value), NULL,
				    origin_make(source, NULL, NULL), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void copy_values(struct policy *to, const struct policy *from)
{
	const struct string_rules *denied = &from->lists[LIST_DENIED_ADDRESSES];

	for (size_t i = 0; i < denied->len; i++)
		(void)policy_add_string(to, LIST_DENIED_ADDRESSES, denied->v[i].text,
				  origin_copy(&denied->v[i].origin), NULL);
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (from->flags[i].set)
			policy_set_flag(to, (enum policy_flag)i,
					from->flags[i].value,
					origin_copy(&from->flags[i].origin));
	}
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		if (from->numbers[i].set)
			policy_set_number(to, (enum policy_number)i,
					from->numbers[i].value,
					origin_copy(&from->numbers[i].origin));
	}
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		if (from->texts[i].value)
			policy_set_text(to, (enum policy_text)i,
					from->texts[i].value,
					origin_copy(&from->texts[i].origin));
	}
}

static enum control_kind parse_policy(const json_t *root,
				      const struct policy *from,
				      struct policy **ret, struct err *err)
{
	const json_t *sandbox = json_object_get(root, "sandbox");
	const json_t *net = json_object_get(sandbox ? sandbox : root,
					    "network");
	auto_policy struct policy *p = policy_new(from->cwd, from->home);
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--control-fd", NULL, 0, NULL);
	int r;

	if (!json_is_object(net)) {
		fail(err, -EINVAL, "neither an answer nor a policy with \"network\"");
		return CONTROL_BAD;
	}
	r = keep_rules(p, from, HOST_DENY, err);
	if (!r)
		r = keep_rules(p, from, HOST_ALLOW, err);
	if (!r && !policy_flag(from, FLAG_MANAGED_DOMAINS_ONLY, false))
		r = add_list(p, HOST_ALLOW,
			     json_object_get(net, "allowedDomains"), source,
			     "allowedDomains", err);
	if (!r)
		r = add_list(p, HOST_DENY,
			     json_object_get(net, "deniedDomains"), source,
			     "deniedDomains", err);
	if (r < 0)
		return CONTROL_BAD;
	copy_values(p, from);
	*ret = take_ptr(p);
	return CONTROL_POLICY;
}

enum control_kind control_parse(const char *line, size_t n,
				const struct policy *policy,
				struct control_answer *ret_answer,
				struct policy **ret_policy, struct err *err)
{
	json_t *root = json_parse(line, n, "control", err);
	const json_t *answer = json_object_get(root, "answer");
	enum control_kind kind = CONTROL_BAD;
	auto_buf struct buf issues = { 0 };

	if (json_is_object(answer))
		kind = parse_answer(answer, ret_answer, err);
	else if (policy->profile == PROFILE_SRT && srt_check(root, &issues))
		fail(err, -EINVAL, "%s", buf_str(&issues));
	else if (json_is_object(root))
		kind = parse_policy(root, policy, ret_policy, err);
	else if (root)
		fail(err, -EINVAL, "not an object");
	json_decref(root);
	return kind;
}
