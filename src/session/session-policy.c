/* SPDX-License-Identifier: Apache-2.0 */
/* session/session-policy.c - what all commands of a session share, as text that is compared
 *
 * Of the policy, that is what the sandbox was built from. What follows from the version
 * is left out, and what is each command's own: variables, time, file size, output.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "report/command-text.h"
#include "run/resource-limits.h"
#include "session/session-wire.h"

static const char *const path_names[PATH_LISTS] = {
	[PATH_ALLOW_WRITE] = "write", [PATH_DENY_WRITE] = "deny-write",
	[PATH_ALLOW_READ] = "read", [PATH_DENY_READ] = "deny-read",
};

static const char *const list_names[LIST_COUNT] = {
	[HOST_ALLOW] = "allow", [HOST_DENY] = "deny",
	[LIST_UNIX_SOCKETS] = "unix-socket", [LIST_HOST_PORTS] = "host-port",
	[LIST_PUBLISH] = "publish", [LIST_ALLOW_IPS] = "allow-ip",
	[LIST_DENIED_ADDRESSES] = "deny address", [LIST_UNPROTECT] = "unprotect",
	[LIST_GIT_SAFE] = "git safe directory", [LIST_MASKED_FILES] = "mask",
	[LIST_SECRETS] = "secret", [LIST_SECRET_CAS] = "secret's authority",
	[LIST_AWS_PAIRS] = "AWS key",
};

static const char *const flag_names[FLAG_COUNT] = {
	[FLAG_WEAKER_NESTED] = "enableWeakerNestedSandbox",
	[FLAG_NESTED_USERNS] = "allowNestedUserNamespaces",
	[FLAG_ALLOW_GIT_CONFIG] = "allowGitConfig",
	[FLAG_FS_DISABLED] = "filesystem.disabled",
	[FLAG_ALL_UNIX_SOCKETS] = "allowAllUnixSockets",
	[FLAG_LOCAL_BINDING] = "allowLocalBinding",
	[FLAG_STRICT_ALLOWLIST] = "strictAllowlist",
	[FLAG_MANAGED_DOMAINS_ONLY] = "allowManagedDomainsOnly",
	[FLAG_MANAGED_READS_ONLY] = "allowManagedReadPathsOnly",
	[FLAG_BLOCK_OUTSIDE_READS] = "blockReadsOutsideWorkingDirectories",
	[FLAG_NO_FORGE] = "no-forge",
};

static const char *const number_names[NUMBER_COUNT] = {
	[NUMBER_MEMORY] = "memory", [NUMBER_PIDS] = "pids",
	[NUMBER_HTTP_PROXY_PORT] = "httpProxyPort",
	[NUMBER_SOCKS_PROXY_PORT] = "socksProxyPort",
	[NUMBER_SEARCH_DEPTH] = "mandatoryDenySearchDepth",
	[NUMBER_SEARCH_LIMIT] = "search-limit",
};

static const char *const text_names[TEXT_COUNT] = {
	[TEXT_PARENT_HTTP] = "HTTP through", [TEXT_PARENT_HTTPS] = "HTTPS through",
	[TEXT_PARENT_NO_PROXY] = "no proxy for",
};

static void add(struct strings *lines, const char *what, const char *value)
{
	auto_buf struct buf line = { 0 };

	buf_addf(&line, "%s ", what);
	text_escape(&line, value);
	*vec_push(lines) = buf_take(&line);
}

static void add_paths(struct strings *lines, const struct policy *policy)
{
	for (size_t i = 0; i < PATH_LISTS; i++) {
		const struct path_rules *rules = &policy->paths[i];

		for (size_t j = 0; j < rules->len; j++) {
			const struct path_rule *rule = &rules->v[j];

			if (rule->strength == RULE_USER)
				add(lines, path_names[i],
				    rule->glob ? rule->text : rule->path);
		}
	}
}

static void add_lists(struct strings *lines, const struct policy *policy)
{
	for (size_t i = 0; i < LIST_COUNT; i++) {
		for (size_t j = 0; list_names[i] && j < policy->lists[i].len; j++)
			add(lines, list_names[i], policy->lists[i].v[j].text);
	}
}

static void add_values(struct strings *lines, const struct policy *policy)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (flag_names[i] && policy->flags[i].set)
			add(lines, flag_names[i],
			    policy->flags[i].value ? "true" : "false");
	}
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		auto_free char *value = mem_printf("%" PRIu64,
						   policy->numbers[i].value);

		if (number_names[i] && policy->numbers[i].set)
			add(lines, number_names[i], value);
	}
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		auto_free char *value = !text_names[i] || !policy->texts[i].value ?
					NULL : mem_strdup(policy->texts[i].value);

		if (value) {
			command_text_strip(value);	/* It may hold a password */
			add(lines, text_names[i], value);
		}
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void session_policy(const struct policy *policy, const struct plan *plan,
		    struct buf *out)
{
	struct strings lines = { 0 };

	add(&lines, "version", CLOCHE_VERSION);
	add(&lines, "project", policy->project);
	add(&lines, "home", policy->home ? policy->home : "");
	for (size_t i = DIR_CLAUDE; i < DIR_PARENTS; i++)
		add(&lines, "directory", policy->dirs[i] ? policy->dirs[i] : "");
	add(&lines, "profile", profile_name(policy->profile));
	add(&lines, "net", net_mode_name(policy->net));
	add(&lines, "tier", tier_name(plan->tier));
	add(&lines, "observe", plan->observe_full ? "full" :
	    plan->observe ? "on" : "off");
	add_paths(&lines, policy);
	add_lists(&lines, policy);
	add_values(&lines, policy);
	qsort(lines.v, lines.len, sizeof(*lines.v), compare);
	for (size_t i = 0; i < lines.len; i++) {
		if (!i || strcmp(lines.v[i], lines.v[i - 1]) != 0)
			buf_addf(out, "%s\n", lines.v[i]);
	}
	strings_done(&lines);
}

static int compare_line(const char *a, size_t n, const char *b, size_t m)
{
	const int r = memcmp(a, b, n < m ? n : m);

	return r || n == m ? r : n < m ? -1 : 1;
}

void session_policy_diff(const char *ours, const char *theirs, struct buf *out)
{
	while (*ours || *theirs) {
		const size_t n = strcspn(ours, "\n"), m = strcspn(theirs, "\n");
		const int r = !*ours ? 1 : !*theirs ? -1 :
			      compare_line(ours, n, theirs, m);

		if (r < 0)
			buf_addf(out, "    only the session:      %.*s\n", (int)n, ours);
		else if (r > 0)
			buf_addf(out, "    only this command:     %.*s\n", (int)m, theirs);
		if (r <= 0)
			ours += n + !!ours[n];
		if (r >= 0)
			theirs += m + !!theirs[m];
	}
}

void session_limits(const struct limits *limits, struct session_request *q)
{
	struct sandbox_request all = { 0 };
	struct sandbox_join *join = &q->join;

	limits_fill(limits, &all);
	join->nlimits = 0;
	for (size_t i = 0; i < all.nlimits; i++) {
		if (all.limits[i].resource != RLIMIT_FSIZE)
			join->limits[join->nlimits++] = all.limits[i];
	}
	if (q->limited)
		join->limits[join->nlimits++] = (struct sandbox_limit){
			RLIMIT_FSIZE, q->file_size };
}
