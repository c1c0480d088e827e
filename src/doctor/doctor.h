/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/doctor.h - what this machine can enforce, tried for real
 *
 * Each probe (probes.def) runs in a child of its own and does what a run
 * would do; nothing is deduced from versions. From the answers follow the tier
 * and what it guarantees (plan/tier.c).
 */

#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "plan/tier.h"

struct buf;

enum probe {
#define PROBE(id, ...) PROBE_##id,
#include "doctor/probes.def"
#undef PROBE
	PROBE_COUNT,
};

enum cause {
#define CAUSE(id, ...) CAUSE_##id,
#include "doctor/causes.def"
#undef CAUSE
	CAUSE_COUNT,
};

enum mark {
	MARK_YES,
	MARK_FACT,	/* Neither good nor bad */
	MARK_LESS,	/* Something is missing */
	MARK_BAD,	/* A tier is missing */
};

enum { PROBE_DETAIL_MAX = 160 };

/**
 * struct probe_result - What one probe found
 * @ran:	It was asked for
 * @mark:	The answer
 * @cause:	Why not, if that is known
 * @error:	errno of the refusal, or 0
 * @value:	A number, where the answer is one (the Landlock ABI)
 * @detail:	A few words more, or ""
 */
struct probe_result {
	bool ran;
	enum mark mark;
	enum cause cause;
	int error, value;
	char detail[PROBE_DETAIL_MAX];
};

/* All answers */
struct doctor {
	struct probe_result results[PROBE_COUNT];
	enum tier tier;
};

/* Run every probe, or with @quick only those that a tier depends on. @limits
 * says how limits are kept (run/resource-limits.h knows), or is NULL. 0 or a negative
 * errno: then nothing is known.
 */
int doctor_run(struct doctor *ret, bool quick, const char *limits);

/* Why the full tier cannot be had, in one clause; NULL if it can */
const char *doctor_why_not(const struct doctor *doctor);

/* The report for people, and for programs */
void doctor_print(const struct doctor *doctor, struct buf *out);
void doctor_print_json(const struct doctor *doctor, struct buf *out);

/* The AppArmor profile that lets the program at @path have what it needs */
void doctor_print_apparmor(const char *path, struct buf *out);

/**
 * struct preflight - What the settings want
 * @enabled:	They switch the sandbox on
 * @minimum:	The weakest tier they put up with
 * @firewall:	An egress firewall of ours is active
 */
struct preflight {
	bool enabled;
	enum tier minimum;
	bool firewall;
};

/* Append one line if the sandbox is switched on but cannot run here, else
 * nothing. Runs the quick probes only if need be.
 */
void doctor_preflight(const struct preflight *want, struct buf *out);

/* The sandbox around this process, by the name of its first process ("cloche",
 * "bubblewrap"); NULL if it is not a known one
 */
const char *doctor_around(void);

/* True if this process has what every sandbox of ours gives: no_new_privs, a
 * system call filter, no capabilities
 */
bool doctor_is_confined(void);

/* True in a sandbox of ours of tier landlock: / cannot be listed there, so no
 * other can be built in it
 */
bool doctor_is_in_landlock(void);

#endif /* DOCTOR_DOCTOR_H */
