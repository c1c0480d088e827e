/* SPDX-License-Identifier: Apache-2.0 */
/* plan/tier.c - how strong a boundary is, and what it guarantees */

#include "plan/tier.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name, *words, *alone;
} tiers[TIER_COUNT] = {
#define TIER(id, name, words, alone) [TIER_##id] = { name, words, alone },
#include "plan/tiers.def"
};

/**
 * struct row - One promise
 * @holds, @by:	In the full tier, then in the landlock tier
 * @abi:	Of Landlock, that the landlock tier takes for it
 */
static const struct row {
	const char *name, *promise;
	enum holds holds[2];
	const char *by[2];
	int abi;
} rows[GUARANTEE_COUNT] = {
#define GUARANTEE(id, name, promise, full, full_by, landlock, landlock_by, abi) \
	[GUARANTEE_##id] = { name, promise, { full, landlock },		\
			     { full_by, landlock_by }, abi },
#include "plan/tiers.def"
};

/* Other words where something is missing; by is NULL where they are the same */
static const struct {
	int abi;
	const char *by;
} alone[GUARANTEE_COUNT] = {
#define ALONE(id, abi, by) [GUARANTEE_##id] = { abi, by },
#include "plan/tiers.def"
};

static const char *const unwatched[GUARANTEE_COUNT][2] = {
#define UNWATCHED(id, full_by, landlock_by) \
	[GUARANTEE_##id] = { full_by, landlock_by },
#include "plan/tiers.def"
};

const char *tier_name(enum tier tier)
{
	return tiers[tier].name;
}

const char *tier_words(enum tier tier, struct ground ground)
{
	return !ground.abi && tiers[tier].alone ? tiers[tier].alone :
						  tiers[tier].words;
}

int tier_parse(const char *name, enum tier *ret)
{
	for (enum tier t = TIER_FULL; t < TIER_NONE; t++) {
		if (!strcmp(tiers[t].name, name)) {
			*ret = t;
			return 0;
		}
	}
	return -EINVAL;
}

struct guarantee_state guarantee_in(enum guarantee guarantee, enum tier tier,
				    struct ground ground)
{
	const struct row *row = &rows[guarantee];
	struct guarantee_state state = {
		.name = row->name, .promise = row->promise,
		.holds = MISSING, .by = "nothing is run",
	};

	if (tier == TIER_NONE)
		return state;
	state.holds = row->holds[tier];
	state.by = row->by[tier];
	if (tier == TIER_FULL && ground.abi < alone[guarantee].abi)
		state.by = alone[guarantee].by;
	if (!ground.observer && unwatched[guarantee][tier]) {
		state.holds = PARTLY;
		state.by = unwatched[guarantee][tier];
	}
	if (tier == TIER_LANDLOCK && ground.abi < row->abi) {
		state.holds = MISSING;
		state.by = "this kernel's Landlock is too old for it";
	}
	return state;
}

const char *holds_name(enum holds holds)
{
	static const char *const names[] = { "holds", "partly", "missing" };

	return names[holds];
}
