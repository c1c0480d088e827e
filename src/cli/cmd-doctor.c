/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-doctor.c - cloche doctor and preflight: what this machine can enforce */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/shim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "doctor/doctor.h"
#include "policy/firewall-mark.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/resource-limits.h"

/* How limits would be enforced: found by making a cgroup and removing it again */
static const char *limits_here(void)
{
	auto_policy struct policy *policy = policy_new("/", NULL);
	const struct origin none = { 0 };
	struct limits *limits;
	const char *method;

	policy_set_number(policy, NUMBER_MEMORY, 1 << 30, none);
	policy_set_number(policy, NUMBER_PIDS, 1 << 10, none);
	limits = limits_new(policy);
	method = limits_method(limits);
	limits_free(limits);
	return method;
}

enum {
	COLUMNS = 80,
	NARROW = 60,		/* Below this an explanation continues at the left */
	WHY_AT = 30,		/* Where a probe's explanation begins */
	GUARANTEE_AT = 4,	/* The same for a guarantee, and */
	ADVICE_AT = 9,		/* for a cause and a remedy, and */
	TIER_AT = 6,		/* for the tier */
};

/* What is missing, and what to do about it, stand out on a terminal */
static void print_text(const char *text)
{
	const int wide = terminal_columns(STDOUT_FILENO);
	const int columns = wide > COLUMNS ? COLUMNS : wide;

	while (*text) {
		const size_t n = strcspn(text, "\n") + 1;
		const char *line = text + strspn(text, " ");
		const enum style style =
			!strncmp(text, "✗", strlen("✗")) ? STYLE_HEAD :
			!strncmp(line, "fix: ", 5) ? STYLE_COMMAND : STYLE_NONE;
		const int at = !strncmp(text, "tier: ", TIER_AT) ? TIER_AT :
			       line == text && columns >= NARROW ? WHY_AT :
			       line - text < GUARANTEE_AT ? GUARANTEE_AT : ADVICE_AT;
		auto_buf struct buf out = { 0 };

		/* A line to paste stays whole */
		terminal_wrap(&out, text, n - 1, at,
			      style != STYLE_COMMAND ? columns : 0);
		printf("%s%s%s\n", style ? terminal_style(stdout, style) : "", buf_str(&out),
		       style ? terminal_style(stdout, STYLE_NONE) : "");
		text += n - !text[n - 1];
	}
}

int cli_doctor(struct call *call, struct err *err)
{
	const bool json = call_flag(call, "json");
	auto_buf struct buf out = { 0 };
	struct doctor doctor;
	auto_free char *self = own_path();
	int r;

	if (call_expect(call, 0, 0, err) < 0)
		return -EINVAL;
	if (call_flag(call, "print-apparmor")) {
		if (*self != '/')
			return fail(err, -ENOENT, "cannot tell where this program is; /proc is not mounted");
		doctor_print_apparmor(self, &out);
		fputs(buf_str(&out), stdout);
		return 0;
	}
	r = doctor_run(&doctor, false, limits_here());
	if (r < 0)
		return fail(err, r, "cannot run the probes: %s", strerror(-r));
	if (json)
		doctor_print_json(&doctor, &out);
	else
		doctor_print(&doctor, &out);
	if (json)
		fputs(buf_str(&out), stdout);
	else
		print_text(buf_str(&out));
	return doctor.tier == TIER_FULL ? 0 : 1;
}

void advise(const struct policy *policy, bool enabled, struct buf *out)
{
	struct preflight want = {
		.enabled = enabled, .minimum = TIER_LANDLOCK,
		.firewall = firewall_mark_is_up(),
	};

	if (policy->texts[TEXT_MINIMUM_TIER].value)
		(void)tier_parse(policy->texts[TEXT_MINIMUM_TIER].value,
				 &want.minimum);
	doctor_preflight(&want, out);
}

int cli_preflight(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_buf struct buf out = { 0 };
	const bool json = call_flag(call, "json");
	json_t *list;

	if (call_expect(call, 0, 0, err) < 0)
		return -EINVAL;
	shim_tell_bypass(&out);
	if (decision_policy(&call->options, &policy, err) == 0)
		advise(policy, policy_flag(policy, FLAG_ENABLED, false), &out);
	else if (json)
		/* In JSON, silence would mean healthy; in a session the first
		 * command reports the error
		 */
		buf_addf(&out, "the settings cannot be read, and no command will run: %s\n",
			 err->msg);
	if (!json) {
		fputs(buf_str(&out), stdout);
		return 0;
	}
	list = json_array();
	for (const char *line = buf_str(&out); *line;) {
		const size_t n = strcspn(line, "\n");

		json_array_append_new(list, json_stringn(line, n));
		line += n + (line[n] == '\n');
	}
	print_json(json_pack("{s:i, s:b, s:o}", "version", 1, "healthy",
			     !json_array_size(list), "advice", list),
		   JSON_COMPACT);
	return 0;
}
