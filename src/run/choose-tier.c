/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/choose-tier.c - which tier a run gets, and when a weaker one is accepted
 *
 * The full tier is tried first, without a probe: that costs nothing where it works.
 * Only when it could not be built are the doctor's probes run, and only if they fail
 * too is the landlock tier tried, with a message.
 */

#include "run/choose-tier.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "doctor/doctor.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/options.h"
#include "view/view.h"

bool tier_is_nested(void)
{
	const char *around = doctor_around();

	/* Any process can have that name */
	return around && !strcmp(around, "cloche") && doctor_is_confined();
}

bool tier_steps_aside(void)
{
	return tier_is_nested() || doctor_is_in_landlock();
}

/* The sandbox around us is one in which no other can be built */
static int fail_in_landlock(struct err *err)
{
	return fail(err, -EOPNOTSUPP, "this runs in a cloche sandbox of tier landlock, in which no other can be built; run the command as it is: the sandbox around it holds it");
}

static enum tier minimum_of(const struct policy *policy)
{
	enum tier minimum = TIER_LANDLOCK;

	if (policy->texts[TEXT_MINIMUM_TIER].value)
		(void)tier_parse(policy->texts[TEXT_MINIMUM_TIER].value,
				 &minimum);
	return minimum;
}

/* What only namespaces can do, among what is wished for; NULL if nothing is */
static const char *wish_for_full(const struct options *options,
				 const struct policy *policy)
{
	static const struct {
		enum string_list list;
		const char *words;
	} lists[] = {
		{ LIST_HOST_PORTS, "a port of the host's loopback (--host-port)" },
		{ LIST_PUBLISH, "a published port (--publish)" },
		{ LIST_UNIX_SOCKETS, "a Unix socket by path (--unix-socket)" },
	};

	if (net_is_jail(policy->net))
		return "--net jail";
	if (policy->profile == PROFILE_HOME)
		return "profile home";
	if (options_has(options, OPTION_EPHEMERAL))
		return "--ephemeral";
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (policy->lists[lists[i].list].len)
			return lists[i].words;
	}
	return NULL;
}

int tier_choose(const struct options *options, const struct policy *policy,
		const struct machine *machine, enum tier *ret,
		struct err *err)
{
	const char *asked = options_get(options, OPTION_TIER);
	const char *wish = wish_for_full(options, policy);
	enum tier tier = TIER_FULL;
	auto_buf struct buf origin = { 0 };

	if (asked && tier_parse(asked, &tier) < 0)
		return fail(err, -EINVAL, "--tier: '%s' is not one of full, landlock",
			    asked);
	if (tier > minimum_of(policy)) {
		origin_describe(&policy->texts[TEXT_MINIMUM_TIER].origin,
				&origin);
		return fail(err, -EPERM, "tier %s is less than the policy asks for: minimumTier is %s (%s)",
			    tier_name(tier), tier_name(minimum_of(policy)),
			    buf_str(&origin));
	}
	*ret = tier;
	if (tier == TIER_FULL)
		return 0;
	if (machine->landlock_abi < TIER_LANDLOCK_ABI)
		return fail(err, -EOPNOTSUPP, "the landlock tier needs Landlock ABI %d, and this kernel has %d; 'cloche doctor' says more",
			    TIER_LANDLOCK_ABI, machine->landlock_abi);
	if (doctor_is_in_landlock())
		return fail_in_landlock(err);
	if (wish && tier_is_nested())
		return fail(err, -EOPNOTSUPP, "%s needs tier full, which is not available in another sandbox; do without it here, or use it for the sandbox around this one",
			    wish);
	if (wish)	/* Refused, not left out */
		return fail(err, -EOPNOTSUPP, "%s needs tier full; do without it or without --tier landlock ('cloche doctor' says whether this machine has tier full)",
			    wish);
	return 0;
}

/* A shortage passes, and a command may have caused it in order to have
 * the next command in a weaker sandbox
 */
static bool is_shortage(int code)
{
	return code == -EMFILE || code == -ENFILE || code == -EAGAIN ||
	       code == -ENOMEM || code == -ETOOMANYREFS;
}

/* The doctor's own attempts are short of the same things as ours */
static bool is_short(const struct doctor *doctor)
{
	size_t i = 0;

	while (i < PROBE_COUNT && !is_shortage(-doctor->results[i].error))
		i++;
	return i < PROBE_COUNT;
}

bool tier_falls_back(const struct options *options, const struct plan *plan,
		     struct err *err)
{
	struct doctor doctor;
	const char *why;

	if (plan->tier != TIER_FULL || is_shortage(err->code) ||
	    doctor_run(&doctor, true, NULL) < 0 ||
	    doctor.tier == TIER_FULL || is_short(&doctor))
		return false;
	why = doctor_why_not(&doctor);
	why = why ? why : err->msg;
	if (options_has(options, OPTION_TIER))
		fail(err, -EOPNOTSUPP, "tier full is not available here: %s; 'cloche doctor' says what to do",
		     why);
	else if (minimum_of(plan->view->policy) == TIER_FULL)
		fail(err, -EOPNOTSUPP, "minimumTier is full, which is not available here: %s; 'cloche doctor' says what to do",
		     why);
	else if (doctor.tier == TIER_NONE && doctor_is_in_landlock())
		fail_in_landlock(err);
	else if (doctor.tier == TIER_NONE)
		fail(err, -EOPNOTSUPP, "no sandbox can be built on this machine: %s; 'cloche doctor' says what to do",
		     why);
	else
		return fail(err, -EOPNOTSUPP, "tier landlock: %s; 'cloche explain' shows what that means, 'cloche doctor' how to get tier full",
			    why) < 0;
	return false;
}
