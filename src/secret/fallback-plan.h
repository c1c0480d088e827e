/* SPDX-License-Identifier: Apache-2.0 */
/* secret/fallback-plan.h - two stores as one: what to do next (pure)
 *
 * The whole rule of the combinator stands in one function without side
 * effects: from what is known so far, the next step. secret/fallback.c carries
 * the steps out. The invariants:
 *
 * read:   the first store wins whenever it has data, unless the second holds
 *         a claim (secret/claim.h).
 * update: the first takes it -> if it had nothing before, the second is
 *         deleted (migration). The first fails -> the second takes it; then
 *         the old copy in the first is deleted, or claimed over where it cannot
 *         be deleted, so that it cannot shadow the new one. Both fail ->
 *         failure, nothing changed.
 * delete: both; a first that cannot be reached is claimed over.
 * edit:   read, change, update. If the first cannot be read, the change goes
 *         to the second as a patch, and is merged as soon as it can.
 *
 * A claim ends in three writes, each of which leaves what a reader sees as it
 * was or as it will be: the first gets what both hold together, the claim is
 * given up, the first gets the update.
 */

#ifndef SECRET_FALLBACK_PLAN_H
#define SECRET_FALLBACK_PLAN_H

#include <limits.h>

#include "secret/claim.h"

enum verb { VERB_READ, VERB_UPDATE, VERB_DELETE, VERB_EDIT };

enum step {
	STEP_READ_1, STEP_READ_2,
	STEP_CHANGE,		/* Edit the document that was read */
	STEP_MERGE_1,		/* Give the first what both held, unchanged */
	STEP_UPDATE_1, STEP_UPDATE_2,
	STEP_PATCH_2,		/* Edit the second, as changes to the first */
	STEP_DELETE_1, STEP_DELETE_2,
	STEP_CLAIM_PATCH, STEP_CLAIM_WHOLE, STEP_CLAIM_NONE,
	STEP_DONE,
	STEP_COUNT = STEP_DONE,
};

enum { NOT_YET = INT_MIN };

/**
 * struct fallback_facts - What is known so far
 * @claim:	As it stood at the beginning
 * @did:	By step: NOT_YET, 1 done or found, 0 nothing there, or -errno
 */
struct fallback_facts {
	enum claim claim;
	int did[STEP_COUNT];
};

enum step fallback_next(enum verb verb, const struct fallback_facts *facts);

#endif /* SECRET_FALLBACK_PLAN_H */
