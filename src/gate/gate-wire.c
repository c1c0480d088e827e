/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-wire.c - the network's part of a policy, as text for the gate
 *
 * A rule is [text, reason, scope, file, key]: its origin goes along so that
 * reports name it. Its line can't be looked up without the file, so it is put
 * into the file's name.
 */

#include "gate/gate-wire.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"

static json_t *hosts_to_json(const struct policy *policy, enum string_list which,
			     gate_policy_fn keep)
{
	const struct list_rules *rules = &policy->lists[which];
	json_t *list = json_array();

	for (size_t i = 0; i < rules->len; i++) {
		const struct origin *origin = &rules->v[i].origin;
		const struct source *source = origin->source;
		const unsigned int line = origin_line(origin);
		auto_free char *place = source && line ?
			mem_printf("%s:%u", source->name, line) : NULL;

		if (keep && !keep(policy, which, &rules->v[i]))
			continue;
		json_array_append_new(list, json_pack("[ooioo]",
			json_text(rules->v[i].text),
			json_text(rules->v[i].detail),
			source ? (int)source->scope : 0,
			json_text(place ? place : source ? source->name : NULL),
			json_text(origin->key)));
	}
	return list;
}

void gate_policy_write(const struct policy *policy, gate_policy_fn keep,
		       struct buf *out)
{
	const struct list_rules *denied =
		&policy->lists[LIST_DENIED_ADDRESSES];
	json_t *ranges = json_array(), *root;
	auto_free char *text = NULL;

	for (size_t i = 0; i < denied->len; i++)
		json_array_append_new(ranges, json_text(denied->v[i].text));
	root = json_pack("[ooo[bb][II][ooo]]",
		hosts_to_json(policy, HOST_ALLOW, keep),
		hosts_to_json(policy, HOST_DENY, keep), ranges,
		policy_flag(policy, FLAG_STRICT_ALLOWLIST, false),
		policy_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, false),
		(json_int_t)policy->numbers[NUMBER_HTTP_PROXY_PORT].value,
		(json_int_t)policy->numbers[NUMBER_SOCKS_PROXY_PORT].value,
		json_text(policy->texts[TEXT_PARENT_HTTP].value),
		json_text(policy->texts[TEXT_PARENT_HTTPS].value),
		json_text(policy->texts[TEXT_PARENT_NO_PROXY].value));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!text)
		abort();
	buf_adds(out, text);
}

static int read_hosts(struct policy *p, enum string_list list, json_t *rows)
{
	size_t i;
	json_t *row;
	int r = json_is_array(rows) ? 0 : -EINVAL;

	json_array_foreach(rows, i, row) {
		const struct source *source = NULL;
		json_t *reason, *file, *key;
		const char *text;
		int scope;

		if (r < 0 || json_unpack(row, "[soioo!]", &text, &reason,
					 &scope, &file, &key) < 0 ||
		    scope < 0 || scope >= SCOPE_COUNT)
			return -EINVAL;
		if (json_is_string(file))
			source = policy_add_source(p, (enum scope)scope,
						   json_string_value(file),
						   NULL, 0, NULL);
		r = policy_add_host(p, list, text, json_string_value(reason),
				    origin_make(source, json_string_value(key),
						NULL), NULL);
	}
	return r;
}

static int read_policy(struct policy *p, json_t *root)
{
	static const enum policy_text texts[] = {
		TEXT_PARENT_HTTP, TEXT_PARENT_HTTPS, TEXT_PARENT_NO_PROXY,
	};
	const struct origin none = origin_make(NULL, NULL, NULL);
	json_t *allow, *deny, *ranges, *proxies[ARRAY_SIZE(texts)], *row;
	int strict, managed, r;
	json_int_t http, socks;
	size_t i;

	if (json_unpack(root, "[ooo[bb!][II!][ooo!]!]", &allow, &deny, &ranges,
			&strict, &managed, &http, &socks, &proxies[0],
			&proxies[1], &proxies[2]) < 0)
		return -EINVAL;
	r = read_hosts(p, HOST_ALLOW, allow);
	if (r >= 0)
		r = read_hosts(p, HOST_DENY, deny);
	json_array_foreach(ranges, i, row) {
		if (r >= 0)
			r = policy_add_string(p, LIST_DENIED_ADDRESSES,
					      json_string_value(row), none,
					      NULL);
	}
	policy_set_flag(p, FLAG_STRICT_ALLOWLIST, strict, none);
	policy_set_flag(p, FLAG_MANAGED_DOMAINS_ONLY, managed, none);
	policy_set_number(p, NUMBER_HTTP_PROXY_PORT, (uint64_t)http, none);
	policy_set_number(p, NUMBER_SOCKS_PROXY_PORT, (uint64_t)socks, none);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (json_is_string(proxies[i]))
			policy_set_text(p, texts[i],
					json_string_value(proxies[i]), none);
	}
	return r;
}

struct policy *gate_policy_read(const char *text, size_t n)
{
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	auto_policy struct policy *p = policy_new("/", NULL);
	const int r = read_policy(p, root);

	json_decref(root);
	return r < 0 ? NULL : take_ptr(p);
}

struct policy *gate_policy_copy(const struct policy *policy, gate_policy_fn keep)
{
	auto_buf struct buf text = { 0 };

	gate_policy_write(policy, keep, &text);
	return gate_policy_read(text.p, text.len);
}
