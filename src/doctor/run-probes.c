/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/run.c - run the probes, each in a child; from the answers, the tier */

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/probe.h"
#include "doctor/table.h"

enum { PROBE_SECONDS = 5 };	/* Whoever takes longer hangs */

static void (*const functions[PROBE_COUNT])(struct probe_result *) = {
#define PROBE(id, ...) [PROBE_##id] = probe_##id,
#include "doctor/probes.def"
#undef PROBE
};

/* What a tier depends on */
static const enum probe quick_probes[] = {
	PROBE_userns, PROBE_uidmap, PROBE_mounts, PROBE_proc, PROBE_netns,
	PROBE_calls, PROBE_seccomp, PROBE_landlock,
};

void probe_no(struct probe_result *r, enum probe probe, enum cause cause,
	      int error)
{
	r->mark = probe_row(probe)->severity;
	r->cause = cause;
	r->error = error;
}

void probe_detail(struct probe_result *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, args);
	va_end(args);
}

static void run_one(enum probe probe, struct probe_result *r)
{
	int status = 0;
	pid_t pid;

	r->ran = true;
	(void)fflush(NULL);
	pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(PROBE_SECONDS);
		functions[probe](r);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		probe_no(r, probe, CAUSE_DIED, pid < 0 ? errno : 0);
}

static bool is_quick(enum probe probe)
{
	for (size_t i = 0; i < ARRAY_SIZE(quick_probes); i++) {
		if (quick_probes[i] == probe)
			return true;
	}
	return false;
}

static enum tier choose_tier(const struct doctor *d)
{
	static const enum probe full[] = {
		PROBE_userns, PROBE_uidmap, PROBE_mounts, PROBE_proc,
		PROBE_netns,
	};

	if (d->results[PROBE_seccomp].mark != MARK_YES ||
	    d->results[PROBE_calls].mark != MARK_YES)
		return TIER_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(full); i++) {
		if (d->results[full[i]].mark == MARK_YES)
			continue;
		return d->results[PROBE_landlock].value >= TIER_LANDLOCK_ABI &&
		       !doctor_is_in_landlock() ? TIER_LANDLOCK : TIER_NONE;
	}
	return TIER_FULL;
}

/* The supervisor's own way to keep limits was tried by the caller */
static void set_limits(struct probe_result *r, const char *limits)
{
	r->ran = true;
	if (strncmp(limits, "control group", 13) != 0)
		probe_no(r, PROBE_cgroup, CAUSE_NONE, 0);
	probe_detail(r, "%s", limits);
}

int doctor_run(struct doctor *ret, bool quick, const char *limits)
{
	struct probe_result *results =
		mmap(NULL, sizeof(ret->results), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (results == MAP_FAILED)
		return -errno;
	for (enum probe p = 0; p < PROBE_COUNT; p++) {
		if (quick && !is_quick(p))
			continue;
		if (p == PROBE_cgroup && limits)
			set_limits(&results[p], limits);
		else if (p != PROBE_cgroup)
			run_one(p, &results[p]);
	}
	memcpy(ret->results, results, sizeof(ret->results));
	(void)munmap(results, sizeof(ret->results));
	ret->tier = choose_tier(ret);
	return 0;
}

const char *doctor_why_not(const struct doctor *d)
{
	for (enum probe p = 0; p < PROBE_COUNT; p++) {
		const struct probe_result *r = &d->results[p];

		if (!r->ran || r->mark != MARK_BAD)
			continue;
		return r->cause != CAUSE_NONE ? cause_row(r->cause)->words
					      : probe_row(p)->no;
	}
	return NULL;
}
