/* SPDX-License-Identifier: Apache-2.0 */
/* run/masked-text.c - files and variables that settings mask: placeholders for their
 * secrets
 *
 * The rules hide each of them, whatever happens here. A mask that cloche-tls could
 * apply is then shown in its place.
 */

#include "run/run-secrets.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/bound-secret.h"
#include "policy/host.h"
#include "policy/policy.h"

/* Only a mask that the user's own settings have says more than its name */
static bool is_usable(const struct policy *policy, enum string_list list,
		      const struct list_rule *rule, char *real)
{
	struct stat st;

	if (!rule->detail)
		return false;
	if (list == LIST_MASKED_VARIABLES)
		return !secret_is_bound(policy, rule->text) && getenv(rule->text);
	return realpath(rule->text, real) && !stat(real, &st) &&
	       S_ISREG(st.st_mode);
}

static bool is_name(const char *text)
{
	struct host host;

	return strcmp(text, "*") != 0 &&
	       !host_parse_authority(text, strlen(text), 443, &host) &&
	       host.kind == HOST_NAME;
}

/* Where the secrets of @detail, a mask, may go: as it says, else each allowed host; ""
 * if there are too many for that
 */
static char *hosts_of(const struct policy *policy, const char *detail)
{
	auto_json json_t *mask = json_loads(detail, 0, NULL);
	struct buf out = { 0 };
	const struct list_rules *allowed = &policy->lists[HOST_ALLOW];
	const json_t *hosts = json_object_get(mask, "injectHosts");
	const size_t n = hosts ? json_array_size(hosts) : allowed->len;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		const char *host =
			hosts ? json_string_value(json_array_get(hosts, i))
			      : allowed->v[i].text;

		if (!host || !is_name(host))
			continue;
		count++;
		buf_addf(&out, "%s%s", out.len ? "," : "", host);
	}
	if (count > BOUND_HOSTS_MAX)
		out.len = 0;
	return buf_take(&out);
}

void masked_texts_find(const struct policy *policy, struct masked_texts *ret)
{
	static const enum string_list lists[] = {
		LIST_MASKED_VARIABLES,
		LIST_MASKED_FILES,
	};
	char real[PATH_MAX];

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const struct list_rules *list = &policy->lists[lists[k]];
		const bool file = lists[k] == LIST_MASKED_FILES;

		for (size_t i = 0; i < list->len; i++) {
			const struct list_rule *rule = &list->v[i];
			struct masked_text *text;

			if (!is_usable(policy, lists[k], rule, real))
				continue;
			text = vec_push(ret);
			text->label = rule->text;
			text->mask = rule->detail;
			text->hosts = hosts_of(policy, rule->detail);
			text->source = mem_printf("%s:%s",
						  file ? "file" : "env",
						  file ? real : rule->text);
			if (file)
				text->file.path = mem_strdup(real);
		}
	}
}

void masked_texts_show(struct masked_texts *texts, size_t row, const char *p,
		       size_t n)
{
	for (size_t i = 0; i < texts->len; i++) {
		if (texts->v[i].row == row && !texts->v[i].file.text)
			texts->v[i].file.text = mem_strndup(p, n);
	}
}

void masked_texts_done(struct masked_texts *texts)
{
	for (size_t i = 0; i < texts->len; i++) {
		free(texts->v[i].hosts);
		free(texts->v[i].source);
		free(texts->v[i].file.path);
		free(texts->v[i].file.text);
	}
	free(texts->v);
	*texts = (struct masked_texts){ 0 };
}
