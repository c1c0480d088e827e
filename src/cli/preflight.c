/* SPDX-License-Identifier: Apache-2.0 */
/* cli/preflight.c - cloche preflight: an advisory for a start hook, always 0 */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/command.h"
#include "doctor/doctor.h"
#include "firewall/state.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/shim.h"
#include "policy/policy.h"

static void say(const struct options *options)
{
	auto_buf struct buf bypass = { 0 };
	auto_policy struct policy *policy = NULL;
	auto_buf struct buf out = { 0 };
	struct preflight want = { .minimum = TIER_LANDLOCK };
	struct err err = { 0 };

	shim_tell_bypass(&bypass);
	fputs(buf_str(&bypass), stdout);
	/* Settings that cannot be read are the business of `policy check` */
	if (session_policy(options, &policy, &err) < 0)
		return;
	want.firewall = state_is_left();
	want.enabled = policy_flag(policy, FLAG_ENABLED, false);
	if (policy->texts[TEXT_MINIMUM_TIER].value)
		(void)tier_parse(policy->texts[TEXT_MINIMUM_TIER].value,
				 &want.minimum);
	doctor_preflight(&want, &out);
	/* Where a start hook's words reach whoever reads the session */
	fputs(buf_str(&out), stdout);
}

/* A hook that fails would be switched off, and then nobody says anything: so
 * wrong usage is told, and is no failure either
 */
int cli_preflight(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	const int first = cli_parse_options(argc, argv, &options, err);

	if (first < 0)
		fprintf(stderr, "cloche: %s\n", err->msg);
	else
		say(&options);
	options_done(&options);
	return 0;
}
