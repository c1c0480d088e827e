/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/run.c - one run of a command: the list of its stages
 *
 * run-decide.c makes the plan, run-build.c builds the sandbox, supervises it and lets
 * go of it, run-report.c writes what the user reads in the end.
 */

#include "run/run.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/proc.h"
#include "run/choose-tier.h"
#include "run/options.h"
#include "run/output.h"

enum { PLANS_MAX = 3 };		/* Made in a row, while the tree changes */

/* True if the command is to run without a sandbox that could not be built */
static bool runs_without(const struct run *run)
{
	const struct policy *policy = run->decision.policy;

	return run->err->code != -EINVAL &&
	       options_has(run->options, OPTION_ALLOW_UNSANDBOXED) &&
	       !policy_flag(policy, FLAG_FAIL_IF_UNAVAILABLE, false) &&
	       policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true);
}

void run_reset(struct run *run)
{
	run->sandbox = (struct sandbox)SANDBOX_NONE;
	run->jail = JAIL_NONE;
	run->changes = EPHEMERAL_NONE;
	run->tmp = (struct tmpdir){ .lock = -1 };
	run->signals.fd = run->listener = run->status = -1;
	for (size_t i = 0; i < SANDBOX_OWN_FDS; i++)
		run->own[i] = -1;
	run->started = run->waits = run->failed = run->announced = false;
	job_init(&run->job);
}

/* True if files that the plan found were gone when the sandbox was built */
static bool is_stale(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ESTALE;
}

/* The sandbox could not be built, for the reason @r: true if it is worth trying
 * with another plan, or in a weaker tier that the policy accepts
 */
static bool tries_again(struct run *run, int r)
{
	/* The decision itself failed, or the command must not begin twice */
	if (!run->loop || r == SANDBOX_HAD_BEGUN)
		return false;
	run_release(run);
	run_reset(run);
	if (is_stale(r) && ++run->plans < PLANS_MAX)
		return true;
	if (run->serve)		/* A session has tier full or is none */
		return false;
	if (tier_falls_back(run->options, run->decision.plan, run->err)) {
		run->nested = strstr(run->err->msg, TIER_NESTED_WORDS);
		if (!run->nested)
			output_say(run->output, "%s", run->err->msg);
		return options_add(run->options, OPTION_TIER,
				   tier_name(TIER_LANDLOCK), run->err) == 0;
	}
	if (runs_without(run))
		run->unsandboxed = mem_strdup(run->err->msg);
	return false;
}

int run_exit_status(const struct run *run)
{
	if (run->job.timed_out)
		return EXIT_TIMED_OUT;
	if (run->status < 0)
		return fail(run->err, -ECHILD, "the sandbox ended before the command did");
	return run->status;
}

int run_start(struct run *run)
{
	int r;

	run_reset(run);
	run->options->joins = false;	/* A sandbox is built from a whole view */
	do {
		if ((r = run_decide(run)) == 0 &&
		    (r = run_prepare(run)) == 0)
			r = run_build(run);
	} while (r < 0 && tries_again(run, r));
	return r;
}

int run(struct run *run)
{
	int r = run_start(run);

	if (r == 0 && (r = run_supervise(run)) == 0) {
		run_report(run);
		r = run_exit_status(run);
	}
	run_release(run);
	run_store_recovered(run);
	return run->unsandboxed ? run_unsandboxed(run) : r;
}
