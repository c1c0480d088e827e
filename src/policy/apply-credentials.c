/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply-credentials.c - credentials.files and credentials.envVars
 *
 * Theory of operation: whatever the mode, the secret is denied first; a mask is
 * then noted beside it. So an entry that is half wrong in a managed file can be
 * degraded to a denial, and who ignores masks shows nothing.
 */

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/apply.h"
#include "policy/document.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/locks.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "policy/schema.h"

static const char *const known_keys[] = {
	"path", "name", "mode", "extract", "onExtractNoMatch", "decode",
	"maskClaims", "maskDuplicates", "injectHosts",
};

static const char *unknown_key(json_t *entry)
{
	const char *name;
	json_t *value;

	json_object_foreach(entry, name, value) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(known_keys); i++)
			known |= !strcmp(known_keys[i], name);
		if (!known)
			return name;
	}
	return NULL;
}

static bool is_name(const char *text)
{
	if (!*text || isdigit((unsigned char)*text))
		return false;
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	}
	return true;
}

static const char *text_of(json_t *entry, const char *name)
{
	return json_string_value(json_object_get(entry, name));
}

/* Hide @name. 0, or -EINVAL with words for the caller */
static int deny(const struct apply *apply, const struct fact *fact,
		size_t index, const char *name, struct err *why)
{
	if (fact->setting->slot == CREDENTIAL_ENV) {
		if (!is_name(name))
			return fail(why, -EINVAL,
				    "'%s' is not a variable's name", name);
		return policy_add_string(apply->policy, LIST_ENV_DENY, name,
					 apply_origin(fact, index), why);
	}
	if (document_doubts(fact->document, name))
		return fail(why, -EINVAL, "'%s': %s", name,
			    document_doubts(fact->document, name));
	return policy_add_path(apply->policy, PATH_DENY_READ, name, RULE_USER,
			       apply_origin(fact, index), why);
}

static int fill_strings(json_t *list, char ***v, size_t *len, size_t *cap)
{
	json_t *value;
	size_t i;

	if (!list)
		return 0;
	if (!json_array_size(list))
		return -EINVAL;
	json_array_foreach(list, i, value) {
		const char *text = json_string_value(value);
		char **slot;

		if (!text || !*text)
			return -EINVAL;
		slot = mem_grow((void **)v, (*len)++, cap, sizeof(**v));
		*slot = mem_strdup(text);
	}
	return 0;
}

static int fill_extract(json_t *entry, struct credential *c, struct err *why)
{
	const char *extract = text_of(entry, "extract");
	const char *no_match = text_of(entry, "onExtractNoMatch");
	regex_t regex;
	size_t groups;

	if (json_object_get(entry, "onExtractNoMatch") &&
	    (!no_match || (strcmp(no_match, "warn") != 0 &&
			   strcmp(no_match, "deny") != 0 &&
			   strcmp(no_match, "error") != 0)))
		return fail(why, -EINVAL,
			    "onExtractNoMatch must be \"warn\", \"deny\" or \"error\"");
	if (!json_object_get(entry, "extract"))
		return 0;
	if (!extract || regcomp(&regex, extract, REG_EXTENDED) != 0)
		return fail(why, -EINVAL,
			    "extract is not a regular expression");
	groups = regex.re_nsub;
	regfree(&regex);
	if (!groups)
		return fail(why, -EINVAL,
			    "extract needs a group (...) around the secret");
	c->extract = mem_strdup(extract);
	return 0;
}

static int fill_token(json_t *entry, struct credential *c, struct err *why)
{
	const char *decode = text_of(entry, "decode");

	if (json_object_get(entry, "decode") &&
	    (!decode || strcmp(decode, "jwt") != 0))
		return fail(why, -EINVAL, "decode must be \"jwt\"");
	c->jwt = decode != NULL;
	if (fill_strings(json_object_get(entry, "maskClaims"), &c->claims.v,
			 &c->claims.len, &c->claims.cap) < 0)
		return fail(why, -EINVAL, "maskClaims must be a list of texts");
	if (c->claims.len && !c->jwt)
		return fail(why, -EINVAL,
			    "maskClaims needs \"decode\": \"jwt\"");
	if (fill_strings(json_object_get(entry, "injectHosts"), &c->hosts.v,
			 &c->hosts.len, &c->hosts.cap) < 0)
		return fail(why, -EINVAL, "injectHosts must be a list of hosts");
	for (size_t i = 0; i < c->hosts.len; i++) {
		struct host_pattern *p = host_pattern_new(c->hosts.v[i], false,
							  why);

		if (!p)
			return -EINVAL;
		host_pattern_free(p);
	}
	return 0;
}

static int fill_name(const struct apply *apply, const struct fact *fact,
		     const char *name, struct credential *c, struct err *why)
{
	struct path_rule rule = { 0 };
	int r;

	c->kind = (enum credential_kind)fact->setting->slot;
	if (c->kind == CREDENTIAL_ENV) {
		c->name = mem_strdup(name);
		return 0;
	}
	if (glob_is_pattern(name))
		return fail(why, -EINVAL, "a mask needs one file, not a pattern");
	r = path_rule_parse(name, fact->document->source->base,
			    apply->policy->home, &rule, why);
	c->name = rule.path;
	return r;
}

static int add_mask(const struct apply *apply, const struct fact *fact,
		    size_t index, json_t *entry, const char *name,
		    struct err *why)
{
	struct credential c = { 0 };
	int r;

	r = fill_name(apply, fact, name, &c, why);
	if (r == 0)
		r = fill_extract(entry, &c, why);
	if (r == 0)
		r = fill_token(entry, &c, why);
	if (r < 0) {
		credential_done(&c);
		return r;
	}
	c.origin = apply_origin(fact, index);
	*vec_push(&apply->policy->credentials) = c;
	return 0;
}

static int apply_entry(const struct apply *apply, const struct fact *fact,
		       size_t index, json_t *entry)
{
	const bool file = fact->setting->slot == CREDENTIAL_FILE;
	const char *name = text_of(entry, file ? "path" : "name");
	const char *mode = text_of(entry, "mode");
	const char *unknown = unknown_key(entry);
	const bool mask = mode && !strcmp(mode, "mask");
	struct err why = { 0 };

	if (!name || !*name)
		return apply_problem(apply, fact, index, "needs a \"%s\"",
				     file ? "path" : "name");
	if (!mask && (!mode || strcmp(mode, "deny") != 0))
		return apply_problem(apply, fact, index,
				     "mode must be \"deny\" or \"mask\"");
	if (!apply_admits(apply, fact, index, entry))
		return 0;
	if (deny(apply, fact, index, name, &why) < 0)
		return apply_problem(apply, fact, index, "%s", why.msg);
	if (unknown)
		return apply_problem(apply, fact, index, "unknown key '%s'",
				     unknown);
	if (mask && add_mask(apply, fact, index, entry, name, &why) < 0)
		return apply_problem(apply, fact, index, "%s", why.msg);
	return 0;
}

int apply_credentials(const struct apply *apply, const struct fact *fact)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(fact->value))
		return apply_wrong_type(apply, fact);
	json_array_foreach(fact->value, i, entry) {
		const int r = apply_entry(apply, fact, i, entry);

		if (r < 0)
			return r;
	}
	return 0;
}
