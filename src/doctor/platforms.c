/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/platforms.c - docs/platforms.md, from the tables */

#include "base/buf.h"
#include "base/own.h"
#include "doctor/doctor.h"
#include "doctor/table.h"

static const struct {
	const char *name, *tier, *words;
} platforms[] = {
#define PLATFORM(name, tier, words) { name, tier, words },
#include "doctor/platforms.def"
#undef PLATFORM
};

static void print_matrix(struct buf *out)
{
	buf_adds(out, "| where | tier | what to know |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(platforms); i++)
		buf_addf(out, "| %s | %s | %s |\n", platforms[i].name,
			 platforms[i].tier, platforms[i].words);
}

static void print_tiers(struct buf *out)
{
	/* A kernel that has everything; the ABI column says which */
	const struct ground all = { .abi = 1 << 16, .observer = true };

	buf_adds(out, "\n## What each tier guarantees\n\n");
	for (enum tier t = TIER_FULL; t < TIER_COUNT; t++)
		buf_addf(out, "- **%s**: %s.\n", tier_name(t),
			 tier_words(t, all));
	buf_adds(out, "\n| promise | full | landlock |\n|---|---|---|\n");
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_state full =
			guarantee_in(g, TIER_FULL, all);
		const struct guarantee_state landlock =
			guarantee_in(g, TIER_LANDLOCK, all);

		buf_addf(out, "| %s | %s: %s | %s: %s |\n", full.promise,
			 holds_name(full.holds), full.by,
			 holds_name(landlock.holds), landlock.by);
	}
	buf_addf(out, "\nThe landlock tier takes Landlock ABI %d (Linux 6.7); signals and the clean end\n"
		 "take ABI 6 (Linux 6.12). `cloche doctor` says what this machine has.\n",
		 TIER_LANDLOCK_ABI);
}

static void print_causes(struct buf *out)
{
	buf_adds(out, "\n## Why not, and what to do\n\n");
	for (enum cause c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
		buf_addf(out, "- **%s**. %s. Fix: `%s`\n", cause_row(c)->name,
			 cause_row(c)->words, cause_row(c)->fix);
}

static void print_probes(struct buf *out)
{
	buf_adds(out, "\n## What `cloche doctor` tries\n\n"
		 "| probe | what depends on it | without it |\n|---|---|---|\n");
	for (enum probe p = 0; p < PROBE_COUNT; p++)
		buf_addf(out, "| %s | %s | %s |\n", probe_row(p)->title,
			 probe_row(p)->carries, probe_row(p)->no);
}

void doctor_print_platforms(struct buf *out)
{
	buf_adds(out, "# Platforms\n\n"
		 "Made by `tools/gen-platforms.c` from the tables of the program; `make test`\n"
		 "compares. `cloche doctor` tries all of it on your machine and says which tier\n"
		 "it gets; `cloche run --tier full` insists on one; `minimumTier` in the\n"
		 "settings does so for everybody.\n\n");
	print_matrix(out);
	print_tiers(out);
	print_causes(out);
	print_probes(out);
}
