/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/run-probes.c - run the probes, each in a child; from the answers, the tier */

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc.h"
#include "doctor/probe.h"

static const struct probe_row probes[PROBE_COUNT] = {
#define PROBE(id, name, title, carries, severity, yes, no, fix)		\
	[PROBE_##id] = { name, title, carries, MARK_##severity, yes, no, fix },
#include "doctor/probes.def"
#undef PROBE
};

static const struct cause_row causes[CAUSE_COUNT] = {
#define CAUSE(id, name, words, fix) [CAUSE_##id] = { name, words, fix },
#include "doctor/causes.def"
#undef CAUSE
};

const struct probe_row *probe_row(enum probe probe)
{
	return &probes[probe];
}

const struct cause_row *cause_row(enum cause cause)
{
	return &causes[cause];
}

const char *probe_fix(enum probe probe, const struct probe_result *r)
{
	return r->cause != CAUSE_NONE ? causes[r->cause].fix
				      : probes[probe].fix;
}

enum { PROBE_SECONDS = 5 };	/* A probe that takes longer hangs */

static void (*const functions[PROBE_COUNT])(struct probe_result *) = {
#define PROBE(id, ...) [PROBE_##id] = probe_##id,
#include "doctor/probes.def"
#undef PROBE
};

/* What the full tier depends on; every tier needs PROBE_calls and PROBE_seccomp */
static const enum probe full[] = {
	PROBE_userns, PROBE_uidmap, PROBE_mounts, PROBE_proc, PROBE_netns,
};

static bool is_quick(enum probe probe)
{
	bool found = probe == PROBE_calls || probe == PROBE_seccomp ||
		     probe == PROBE_landlock;

	for (size_t i = 0; i < ARRAY_SIZE(full); i++)
		found |= full[i] == probe;
	return found;
}

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

void probe_failed(struct probe_result *r, enum probe probe, enum cause cause,
		  int error)
{
	probe_no(r, probe, cause, error);
	probe_detail(r, "%s", strerror(error));
}

static void run_one(enum probe probe, struct probe_result *r)
{
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
	if (reap_wait(pid) != 0)
		probe_no(r, probe, CAUSE_DIED, pid < 0 ? errno : 0);
}

static enum tier choose_tier(const struct doctor *d)
{
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
