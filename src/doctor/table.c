/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/table.c - the rows of probes.def, causes.def and landlock.def */

#include "doctor/table.h"

#include "base/own.h"

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

static const struct {
	int abi;
	const char *words;
} abis[] = {
#define ABI(abi, words) { abi, words },
#include "doctor/landlock.def"
#undef ABI
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

const char *landlock_lack(int abi, int *cursor)
{
	while ((size_t)*cursor < ARRAY_SIZE(abis)) {
		const int i = (*cursor)++;

		if (abis[i].abi > abi)
			return abis[i].words;
	}
	return NULL;
}
