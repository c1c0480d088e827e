/* SPDX-License-Identifier: Apache-2.0 */
/* policy/apply-objects.c - objects and lists of objects become a policy */

#include "policy/apply.h"

#include <regex.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "policy/document.h"
#include "policy/policy.h"

static int member_problem(const struct apply *apply, const struct fact *fact,
			  const char *name, const char *what)
{
	auto_buf struct buf key = { 0 };

	buf_adds(&key, fact->key);
	json_path_key(&key, name);
	return document_problem(apply->facts, fact->document, buf_str(&key),
				apply->err, "%s", what);
}

static void member_note(const struct apply *apply, const struct fact *fact,
			const char *name, const char *what)
{
	auto_buf struct buf key = { 0 };

	buf_adds(&key, fact->key);
	json_path_key(&key, name);
	document_note(apply->facts, fact->document, NOTE_WARNING,
		      buf_str(&key), "%s", what);
}

int apply_reasons(const struct apply *apply, const struct fact *fact)
{
	const char *name;
	json_t *value;
	int r;

	if (!json_is_object(fact->value))
		return apply_wrong_type(apply, fact);
	json_object_foreach(fact->value, name, value) {
		const char *words = json_string_value(value);

		if (!words || !*words) {
			r = member_problem(apply, fact, name,
					   "must be a text that is not empty");
			if (r < 0)
				return r;
		} else if (!policy_set_reason(apply->policy, name, words)) {
			member_note(apply, fact, name,
				    "is not an entry of network.deniedDomains");
		}
	}
	return 0;
}

int apply_ignores(const struct apply *apply, const struct fact *fact)
{
	const char *name;
	json_t *list, *entry;
	size_t i;
	int r;

	if (!json_is_object(fact->value))
		return apply_wrong_type(apply, fact);
	json_object_foreach(fact->value, name, list) {
		if (!json_is_array(list)) {
			r = member_problem(apply, fact, name,
					   "must be a list of texts");
			if (r < 0)
				return r;
		}
		json_array_foreach(list, i, entry) {
			const char *text = json_string_value(entry);
			struct err why = { 0 };

			r = 0;
			if (!text || !*text)
				r = member_problem(apply, fact, name,
					"must be a list of texts that are not empty");
			else if (policy_add_ignore(apply->policy, name, text,
					apply_origin(fact, APPLY_WHOLE),
					&why) < 0)
				return member_problem(apply, fact, name,
						      why.msg);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_strings(const struct apply *apply, const struct fact *fact,
		       const char *name, enum string_list list)
{
	json_t *entries = json_object_get(fact->value, name);
	json_t *entry;
	size_t i;
	int r;

	if (!entries || json_is_null(entries))
		return 0;
	if (!json_is_array(entries))
		return member_problem(apply, fact, name,
				      "must be a list of texts");
	json_array_foreach(entries, i, entry) {
		const char *text = json_string_value(entry);
		struct err why = { 0 };

		r = 0;
		if (!text || !*text)
			r = member_problem(apply, fact, name,
				"must be a list of texts that are not empty");
		else if (policy_add_string(apply->policy, list, text,
				apply_origin(fact, APPLY_WHOLE), &why) < 0)
			return member_problem(apply, fact, name, why.msg);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The object of the strongest file counts, and as a whole */
int apply_tls(const struct apply *apply, const struct fact *fact)
{
	const char *cert = json_string_value(
		json_object_get(fact->value, "caCertPath"));
	const char *key = json_string_value(
		json_object_get(fact->value, "caKeyPath"));
	int r;

	if (!json_is_object(fact->value))
		return apply_wrong_type(apply, fact);
	if (apply->policy->flags[FLAG_TLS_TERMINATE].set)
		return 0;
	if (!cert != !key)
		return apply_problem(apply, fact, APPLY_WHOLE,
				     "needs both caCertPath and caKeyPath, or neither");
	policy_set_flag(apply->policy, FLAG_TLS_TERMINATE, true,
			apply_origin(fact, APPLY_WHOLE));
	if (cert)
		policy_set_text(apply->policy, TEXT_TLS_CA_CERT, cert,
				apply_origin(fact, APPLY_WHOLE));
	if (key)
		policy_set_text(apply->policy, TEXT_TLS_CA_KEY, key,
				apply_origin(fact, APPLY_WHOLE));
	r = add_strings(apply, fact, "excludeDomains", LIST_TLS_EXCLUDE);
	return r < 0 ? r : add_strings(apply, fact, "extraCaCertPaths",
				       LIST_TLS_EXTRA_CA);
}
