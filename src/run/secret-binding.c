/* SPDX-License-Identifier: Apache-2.0 */
/* run/secret-binding.c - which secrets a run has, and where they may go */

#include "run/run-secrets.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/bound-secret.h"
#include "policy/host.h"
#include "policy/policy.h"

/* What a word stands for in --secret: a variable, and where it may go */
static const struct provider {
	const char *word, *variable, *hosts;
} providers[] = {
	{ "github", "GITHUB_TOKEN",
	  "github.com,api.github.com,uploads.github.com" },
	{ "github", "GH_TOKEN",
	  "github.com,api.github.com,uploads.github.com" },
	{ "gitlab", "GITLAB_TOKEN", "gitlab.com" },
	{ "anthropic", "ANTHROPIC_API_KEY", "api.anthropic.com" },
	{ "openai", "OPENAI_API_KEY", "api.openai.com" },
	{ "gemini", "GEMINI_API_KEY", "generativelanguage.googleapis.com" },
	{ "huggingface", "HF_TOKEN", "huggingface.co" },
	{ "npm", "NPM_TOKEN", "registry.npmjs.org" },
	{ "pypi", "TWINE_PASSWORD", "upload.pypi.org" },
	/* The user must name the hosts: some serve buckets of any customer */
	{ "aws", "AWS_ACCESS_KEY_ID", "" },
};

bool secret_source_path(const char *text, char ret[static PATH_MAX])
{
	const char *home = getenv("HOME");
	const bool below = !strncmp(text, "~/", 2) && home;
	auto_free char *path = mem_printf("%s%s", below ? home : "",
					  text + (below ? 1 : 0));

	return realpath(path, ret);
}

static bool is_variable_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	}
	return n && !isdigit((unsigned char)*text);
}

static const struct provider *find_provider(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		const struct provider *p = &providers[i];

		if ((strlen(p->word) == n && !strncmp(p->word, text, n)) ||
		    (strlen(p->variable) == n &&
		     !strncmp(p->variable, text, n)))
			return p;
	}
	return NULL;
}

static int add_hosts(struct policy *policy, const char *hosts,
		     struct origin origin, struct err *err)
{
	const bool locked =
		policy_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, false);
	int r = 0;

	while (!r && *hosts) {
		const size_t n = strcspn(hosts, ",");
		auto_free char *host = mem_strndup(hosts, n);
		struct host address;

		if (!n || !host_parse_authority(host, n, 443, &address))
			r = n && address.kind == HOST_NAME
				    ? 0
				    : fail(err, -EINVAL,
					   "'%s': a secret is bound to names, not to addresses",
					   host);
		/* Where the administrator names all hosts, this names none */
		if (!r && !locked)
			r = policy_add_host(policy, HOST_ALLOW, host, NULL,
					    origin, err);
		hosts += n + (hosts[n] == ',');
	}
	return r;
}

/* @rule as "NAME@HOST,HOST", a provider's word spelled out. 0 or -EINVAL. */
static int spell_out(struct list_rule *rule, struct err *err)
{
	const char *text = rule->text;
	const size_t n = strcspn(text, "@");
	const struct provider *provider = find_provider(text, n);
	const char *hosts = text[n]    ? text + n + 1
			    : provider ? provider->hosts
				       : "";
	const bool word = provider && strlen(provider->word) == n &&
			  !strncmp(provider->word, text, n);
	auto_free char *name = word ? mem_strdup(provider->variable)
				    : mem_strndup(text, n);
	char *entry;

	if (memchr(text, '=', n))
		return fail(
			err, -EINVAL,
			"a value in an argument is visible to all users; store it with 'cloche secret set %.*s'",
			(int)strcspn(text, "="), text);
	if (!is_variable_name(name, strlen(name)))
		return fail(err, -EINVAL, "'%s' is not the name of a variable",
			    name);
	if (!*hosts)
		return fail(err, -EINVAL,
			    "which hosts may get it? write %s@HOST[,HOST...]",
			    name);
	entry = mem_printf("%s@%s", name, hosts);
	free(rule->text);
	rule->text = entry;
	return 0;
}

/* Add the hosts of the last of @list to an entry of the same name, if there is one */
static bool merge_last(struct list_rules *list)
{
	struct list_rule *last = &list->v[list->len - 1];
	const size_t n = strcspn(last->text, "@") + 1;

	for (size_t i = 0; i + 1 < list->len; i++) {
		struct list_rule *rule = &list->v[i];
		char *both;

		if (strncmp(rule->text, last->text, n) != 0)
			continue;
		both = mem_printf("%s,%s", rule->text, last->text + n);
		free(rule->text);
		rule->text = both;
		free(last->text);
		if (!rule->detail)
			rule->detail = take_ptr(last->detail);
		free(last->detail);
		list->len--;
		return true;
	}
	return false;
}

/* "aws" is a key of several parts; the session token may be missing */
static int add_aws(struct policy *policy, struct err *err)
{
	static const char optional[] = "{\"optional\": true}";
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	int r = 0;

	for (size_t i = 0, n = list->len; !r && i < n; i++) {
		const struct origin origin = list->v[i].origin;
		const char *hosts = !strncmp(list->v[i].text, "aws@", 4)
					    ? list->v[i].text + 3
					    : NULL;
		auto_free char *key = mem_printf("AWS_SECRET_ACCESS_KEY%s",
						 hosts ? hosts : "");
		auto_free char *token =
			mem_printf("AWS_SESSION_TOKEN%s", hosts ? hosts : "");

		if (!hosts)
			continue;
		r = policy_add_string(policy, LIST_SECRETS, key, origin, err);
		if (!r)
			r = policy_add_string(policy, LIST_SECRETS, token,
					      origin, err);
		(void)policy_set_reason(policy, LIST_SECRETS, token, optional);
	}
	return r;
}

bool secret_is_bound(const struct policy *policy, const char *name)
{
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	const size_t n = strlen(name);

	for (size_t i = 0; i < list->len; i++) {
		if (!strncmp(list->v[i].text, name, n) &&
		    list->v[i].text[n] == '@')
			return true;
	}
	return false;
}

/* What the value comes from stays outside, also where it cannot be put into requests:
 * variables of any name, and files wherever they are
 */
static int withhold(struct policy *policy, struct err *err)
{
	const struct list_rules *secrets = &policy->lists[LIST_SECRETS];
	const struct list_rules *sources = &policy->lists[LIST_SECRET_SOURCES];
	int r = 0;

	for (size_t i = 0; !r && i < secrets->len; i++) {
		const char *text = secrets->v[i].text;
		auto_free char *name = mem_strndup(text, strcspn(text, "@"));

		r = policy_add_string(policy, LIST_ENV_DENY, name,
				      secrets->v[i].origin, err);
	}
	for (size_t i = 0; !r && i < sources->len; i++) {
		const char *equals = strchr(sources->v[i].text, '=');
		const char *from = equals ? equals + 1 : "";
		char real[PATH_MAX];

		if (!strncmp(from, "env:", 4))
			r = policy_add_string(policy, LIST_ENV_DENY, from + 4,
					      sources->v[i].origin, err);
		if (!strncmp(from, "file:", 5) &&
		    secret_source_path(from + 5, real))
			policy_add_literal(policy, PATH_DENY_READ, real,
					   RULE_USER, sources->v[i].origin);
	}
	return r;
}

int secret_bindings_expand(struct policy *policy, struct err *err)
{
	struct list_rules *list = &policy->lists[LIST_SECRETS];
	const int r_aws = add_aws(policy, err);
	const size_t n = list->len;

	if (r_aws < 0)
		return r_aws;
	list->len = 0;
	for (size_t i = 0; i < n; i++) {
		struct list_rule *rule = &list->v[list->len++];
		int r;

		*rule = list->v[i];
		r = spell_out(rule, err);
		if (!r)
			r = add_hosts(policy, strchr(rule->text, '@') + 1,
				      rule->origin, err);
		if (r < 0) {
			/* What comes after it stays the policy's */
			memmove(rule + 1, list->v + i + 1,
				(n - i - 1) * sizeof(*rule));
			list->len += n - i - 1;
			return fail_in(err, r, "secret '%s'", rule->text);
		}
		(void)merge_last(list);
	}
	for (size_t i = 0; i < list->len; i++) {
		size_t hosts = 1;

		for (const char *p = list->v[i].text; *p; p++)
			hosts += *p == ',';
		if (hosts > BOUND_HOSTS_MAX)
			return fail(err, -E2BIG,
				    "a secret is bound to more than %d hosts",
				    BOUND_HOSTS_MAX);
	}
	if (list->len > BOUND_SECRETS_MAX)
		return fail(err, -E2BIG, "more than %d secrets",
			    BOUND_SECRETS_MAX);
	return withhold(policy, err);
}
