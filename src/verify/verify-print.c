/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify-print.c - the verdicts, for people and for programs */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "verify/verify.h"
#include "view/view.h"

static const struct {
	const char *mark, *name;
} verdicts[VERDICTS] = {
	[VERDICT_PASS] = { "✓", "PASS" }, [VERDICT_FAIL] = { "✗", "FAIL" },
	[VERDICT_INCONCLUSIVE] = { "?", "INCONCLUSIVE" },
	[VERDICT_CHOICE] = { "!", "CHOICE" }, [VERDICT_SKIP] = { "-", "SKIP" },
};

static void errno_name(int error, char *ret, size_t size)
{
	if (error == ATTACK_NOTHING)
		snprintf(ret, size, "no answer");
	else if (error & ATTACK_SIGNAL)
		snprintf(ret, size, "SIG%s",
			 sigabbrev_np(error & ~ATTACK_SIGNAL) ?: "?");
	else
		snprintf(ret, size, "%s",
			 error ? strerrorname_np(error) ?: "?" : "");
}

static void print_row(const struct verify_row *row,
		      const struct verify_result *r, size_t more,
		      struct buf *out)
{
	char name[32];

	buf_addf(out, "  %s %s %c %s", verdicts[r->verdict].mark, row->id,
		 row->severity, row->title);
	if (more)
		buf_addf(out, " and %zu more", more);
	errno_name(r->found.error, name, sizeof(name));
	if (r->verdict == VERDICT_PASS) {
		buf_addf(out, ": %s%s%s%s\n", r->layer, name[0] ? " (" : "",
			 name, name[0] ? ")" : "");
		return;
	}
	buf_addf(out, ": %s: ", verdicts[r->verdict].name);
	text_escape(out, r->why);
	buf_addc(out, '\n');
}

/* What has the same reason is one line, but for --full */
static size_t alike(const struct verify *v, size_t first, size_t n)
{
	size_t same = 0;
	const struct verify_result *r = &v->results[first];

	for (size_t i = 0; i < n; i++) {
		same += verify_rows[i].group == verify_rows[first].group &&
			v->results[i].asked &&
			v->results[i].verdict == r->verdict &&
			!strcmp(v->results[i].why, r->why);
	}
	return same;
}

static void print_result(const struct verify *v, size_t i, struct buf *out)
{
	const struct verify_row *row = &verify_rows[i];
	const struct verify_result *r = &v->results[i];

	if (v->full) {
		print_row(row, r, 0, out);
		return;
	}
	if (r->verdict == VERDICT_PASS || r->verdict == VERDICT_SKIP)
		return;
	if (r->verdict == VERDICT_FAIL)
		print_row(row, r, 0, out);
	else if (!alike(v, i, i))
		print_row(row, r, alike(v, i, verify_rows_len) - 1, out);
}

/* In quick mode what was stopped is a number; all else is listed */
static void print_group(const struct verify *v, enum verify_group_id group,
			struct buf *out)
{
	size_t passed = 0, asked = 0;

	for (size_t i = 0; i < verify_rows_len; i++) {
		if (verify_rows[i].group != group || !v->results[i].asked ||
		    v->results[i].verdict == VERDICT_SKIP)
			continue;
		asked++;
		passed += v->results[i].verdict == VERDICT_PASS;
	}
	buf_addf(out, "%s: %zu of %zu stopped\n", verify_groups[group].title,
		 passed, asked);
	for (size_t i = 0; i < verify_rows_len; i++) {
		if (verify_rows[i].group == group && v->results[i].asked)
			print_result(v, i, out);
	}
}

static const char *const facts[] = {
	"An allowed host is trusted: whatever the command can read, it can send there, in requests that look like any other.",
	"A host that the command reaches sees this machine's address and what the command says of itself.",
	"The command sees the names of files that it may read, the machine's name, kernel and processors, and the time.",
	"A hidden file where the command may write, as .env, that you replace meanwhile can be read for about a millisecond, until its mask is back; elsewhere Landlock hides it, unless there is none or namespaces may be nested.",
	"A file that the command may write can be run by you later: look at `git diff` before you do.",
};

static void print_hosts(const struct verify *v, struct buf *out)
{
	const struct list_rules *hosts =
		&v->plan->view->policy->lists[HOST_ALLOW];

	if (v->plan->net == NET_HOST)
		buf_adds(out, "  The network is the host's: everything can be sent anywhere.\n");
	else if (v->plan->net == NET_JAIL)
		buf_adds(out, "  The network is a jail: everything can be sent anywhere but to private addresses.\n");
	else if (!hosts->len)
		buf_adds(out, "  No host is allowed: nothing can be sent over the network.\n");
	for (size_t i = 0; i < hosts->len; i++) {
		buf_adds(out, "  Data can leave through ");
		text_escape(out, hosts->v[i].text);
		buf_addc(out, '\n');
	}
}

/* Names this policy on this machine: the plan without the command */
static void policy_hash(const struct verify *v, char ret[static 2 * SHA256_BYTES + 1])
{
	auto_buf struct buf text = { 0 };
	unsigned char digest[SHA256_BYTES];

	plan_print_json(v->plan, &text);
	sha256(text.p, text.len, digest);
	text_hex(digest, sizeof(digest), ret);
}

void verify_print(const struct verify *v, struct buf *out)
{
	const struct plan *plan = v->plan;
	const unsigned int *c = v->counts;
	char hash[2 * SHA256_BYTES + 1];
	struct utsname u;

	(void)uname(&u);
	policy_hash(v, hash);
	for (enum verify_group_id g = 0; g < GROUPS; g++)
		print_group(v, g, out);
	buf_adds(out, "facts\n");
	print_hosts(v, out);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		buf_addf(out, "  %s\n", facts[i]);
	buf_addf(out, "tier %s, kernel %s, Landlock ABI %d, policy %.16s\n",
		 tier_name(plan->tier), u.release, plan->machine.landlock_abi,
		 hash);
	buf_addf(out, "%u passed, %u failed, %u inconclusive, %u your own choice, %u not applicable here; %u.%u s\n",
		 c[VERDICT_PASS], c[VERDICT_FAIL], c[VERDICT_INCONCLUSIVE],
		 c[VERDICT_CHOICE], c[VERDICT_SKIP],
		 (unsigned int)(v->ms / 1000),
		 (unsigned int)(v->ms % 1000 / 100));
}

static json_t *json_row(const struct verify_row *row,
			const struct verify_result *r)
{
	const char severity[] = { row->severity, '\0' };
	char name[32];

	errno_name(r->found.error, name, sizeof(name));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}",
			 "id", row->id, "severity", severity,
			 "group", verify_groups[row->group].name,
			 "title", row->title,
			 "verdict", verdicts[r->verdict].name,
			 "layer", r->layer, "errno", name, "why", r->why,
			 "control", r->control);
}

static json_t *json_facts(const struct verify *v)
{
	auto_buf struct buf text = { 0 };
	json_t *list = json_array();
	char *save = NULL;

	print_hosts(v, &text);
	for (char *line = strtok_r(text.p, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		json_array_append_new(list, json_string(line + 2));
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		json_array_append_new(list, json_string(facts[i]));
	return list;
}

static json_t *json_rows(const struct verify *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verify_rows_len; i++) {
		if (v->results[i].asked)
			json_array_append_new(list, json_row(&verify_rows[i],
							     &v->results[i]));
	}
	return list;
}

void verify_print_json(const struct verify *v, struct buf *out)
{
	const struct plan *plan = v->plan;
	const unsigned int *c = v->counts;
	char hash[2 * SHA256_BYTES + 1];
	auto_free char *text = NULL;
	struct utsname u;
	auto_json json_t *root = NULL;

	(void)uname(&u);
	policy_hash(v, hash);
	root = json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:{s:i, s:i, s:i, s:i, s:i}, s:o, s:o}",
		"version", 1, "cloche", CLOCHE_VERSION,
		"mode", v->full ? "full" : "quick",
		"kernel", u.release,
		"landlockAbi", plan->machine.landlock_abi,
		"tier", tier_name(plan->tier), "policy", hash,
		"ms", (json_int_t)v->ms,
		"summary", "pass", c[VERDICT_PASS], "fail", c[VERDICT_FAIL],
		"inconclusive", c[VERDICT_INCONCLUSIVE],
		"choice", c[VERDICT_CHOICE], "skip", c[VERDICT_SKIP],
		"probes", json_rows(v), "facts", json_facts(v));
	text = json_dumps(root, JSON_COMPACT);
	buf_adds(out, text ? text : "{}");
	buf_addc(out, '\n');
}
