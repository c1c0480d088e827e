/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate-policy.c - the network's part of a policy, as text for the gate
 *
 * A rule is [text, reason, scope, file, line text, key]: its origin goes
 * along so that reports name it. A line can't be looked up without the file,
 * so the place is put into the file's name.
 */

#include "net/gate-policy.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"

static const enum policy_flag flags[] = {
	FLAG_STRICT_ALLOWLIST, FLAG_MANAGED_DOMAINS_ONLY,
};
static const enum policy_number numbers[] = {
	NUMBER_HTTP_PROXY_PORT, NUMBER_SOCKS_PROXY_PORT,
};
static const enum policy_text texts[] = {
	TEXT_PARENT_HTTP, TEXT_PARENT_HTTPS, TEXT_PARENT_NO_PROXY,
};

static json_t *string_or_null(const char *s)
{
	json_t *j = s ? json_string(s) : NULL;

	return j ? j : json_null();
}

static json_t *rule_to_json(const struct host_rule *rule)
{
	const struct source *source = rule->origin.source;
	const unsigned int line = origin_line(&rule->origin);
	auto_free char *place = NULL;

	if (source)
		place = line ? mem_printf("%s:%u", source->name, line)
			     : mem_strdup(source->name);
	return json_pack("[ooioo]", json_string(rule->text),
			 string_or_null(rule->reason),
			 source ? (int)source->scope : -1,
			 string_or_null(place),
			 string_or_null(rule->origin.key));
}

static json_t *hosts_to_json(const struct host_rules *rules)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rules->len; i++)
		json_array_append_new(list, rule_to_json(&rules->v[i]));
	return list;
}

void gate_policy_write(const struct policy *policy, struct buf *out)
{
	const struct string_rules *denied =
		&policy->lists[LIST_DENIED_ADDRESSES];
	json_t *root = json_object(), *list = json_array();
	auto_free char *text = NULL;

	json_object_set_new(root, "allow",
			    hosts_to_json(&policy->hosts[HOST_ALLOW]));
	json_object_set_new(root, "deny",
			    hosts_to_json(&policy->hosts[HOST_DENY]));
	for (size_t i = 0; i < denied->len; i++)
		json_array_append_new(list, json_string(denied->v[i].text));
	json_object_set_new(root, "deniedAddresses", list);
	list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		json_array_append_new(list, json_boolean(
			policy_flag(policy, flags[i], false)));
	json_object_set_new(root, "flags", list);
	list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_array_append_new(list, json_integer((json_int_t)
			policy->numbers[numbers[i]].value));
	json_object_set_new(root, "numbers", list);
	list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_array_append_new(list, string_or_null(
			policy->texts[texts[i]].value));
	json_object_set_new(root, "texts", list);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (!text)
		abort();
	buf_adds(out, text);
}

static int read_rule(struct policy *p, enum host_list list, const json_t *row,
		     struct err *err)
{
	const char *text = json_string_value(json_array_get(row, 0));
	const char *reason = json_string_value(json_array_get(row, 1));
	const json_int_t scope = json_integer_value(json_array_get(row, 2));
	const char *file = json_string_value(json_array_get(row, 3));
	const char *key = json_string_value(json_array_get(row, 4));
	const struct source *source = NULL;

	if (!text || scope >= SCOPE_COUNT)
		return fail(err, -EINVAL, "not a rule of a policy");
	if (scope >= 0 && file)
		source = policy_add_source(p, (enum scope)scope, file, NULL, 0,
					   NULL);
	return policy_add_host(p, list, text, reason,
			       origin_make(source, key, NULL), err);
}

static int read_hosts(struct policy *p, enum host_list list,
		      const json_t *rows, struct err *err)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		const int r = read_rule(p, list, row, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static void read_values(struct policy *p, const json_t *root)
{
	const json_t *list = json_object_get(root, "deniedAddresses");
	size_t i;
	json_t *row;

	json_array_foreach(list, i, row)
		(void)policy_add_string(p, LIST_DENIED_ADDRESSES,
				  json_string_value(row),
				  origin_make(NULL, NULL, NULL), NULL);
	list = json_object_get(root, "flags");
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		policy_set_flag(p, flags[i],
				json_is_true(json_array_get(list, i)),
				origin_make(NULL, NULL, NULL));
	list = json_object_get(root, "numbers");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		policy_set_number(p, numbers[i], (uint64_t)
				  json_integer_value(json_array_get(list, i)),
				  origin_make(NULL, NULL, NULL));
	list = json_object_get(root, "texts");
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text)
			policy_set_text(p, texts[i], text,
					origin_make(NULL, NULL, NULL));
	}
}

struct policy *gate_policy_read(const char *text, size_t n, struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	auto_policy struct policy *p = NULL;
	int r = 0;

	if (!json_is_object(root) ||
	    !json_is_array(json_object_get(root, "allow")) ||
	    !json_is_array(json_object_get(root, "deny"))) {
		json_decref(root);
		fail(err, -EINVAL, "the policy for the gate is not readable");
		return NULL;
	}
	p = policy_new("/", NULL);
	r = read_hosts(p, HOST_ALLOW, json_object_get(root, "allow"), err);
	if (!r)
		r = read_hosts(p, HOST_DENY, json_object_get(root, "deny"),
			       err);
	if (!r)
		read_values(p, root);
	json_decref(root);
	return r < 0 ? NULL : take_ptr(p);
}
