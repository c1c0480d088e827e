/* SPDX-License-Identifier: Apache-2.0 */
/* secret/fallback-plan.c - two stores as one: what to do next (pure) */

#include "secret/fallback-plan.h"

#include <errno.h>
#include <stdbool.h>

#include "secret/backend.h"

static bool todo(const struct fallback_facts *f, enum step step)
{
	return f->did[step] == NOT_YET;
}

static bool ok(const struct fallback_facts *f, enum step step)
{
	return f->did[step] >= 0;
}

static bool final(const struct fallback_facts *f, enum step step)
{
	return !todo(f, step) && answer_is_final(f->did[step]);
}

static enum step next_read(const struct fallback_facts *f)
{
	if (f->claim != CLAIM_WHOLE) {
		if (todo(f, STEP_READ_1))
			return STEP_READ_1;
		if (final(f, STEP_READ_1))
			return STEP_DONE;
		if (f->did[STEP_READ_1] == 1 && f->claim == CLAIM_NONE)
			return STEP_DONE;
	}
	return todo(f, STEP_READ_2) ? STEP_READ_2 : STEP_DONE;
}

static enum step next_update_second(const struct fallback_facts *f)
{
	if (todo(f, STEP_UPDATE_2))
		return STEP_UPDATE_2;
	if (ok(f, STEP_UPDATE_2) && f->claim != CLAIM_WHOLE &&
	    todo(f, STEP_CLAIM_WHOLE))
		return STEP_CLAIM_WHOLE;
	return STEP_DONE;
}

/* The first has failed and the second has the new document: what the first
 * holds, or may hold, must not come back
 */
static enum step next_bury_first(const struct fallback_facts *f)
{
	if (f->did[STEP_READ_1] == 0 && todo(f, STEP_MERGE_1))
		return STEP_DONE;
	if (todo(f, STEP_CLAIM_WHOLE))
		return STEP_CLAIM_WHOLE;
	if (f->did[STEP_READ_1] == -ENOTSUP)
		return STEP_DONE;
	if (todo(f, STEP_DELETE_1))
		return STEP_DELETE_1;
	if (ok(f, STEP_DELETE_1) && todo(f, STEP_CLAIM_NONE))
		return STEP_CLAIM_NONE;
	return STEP_DONE;
}

static enum step next_update_plain(const struct fallback_facts *f)
{
	const bool unavailable = f->did[STEP_READ_1] == -ENOTSUP;
	const bool had_data = f->did[STEP_READ_1] == 1 &&
			      todo(f, STEP_MERGE_1);

	if (!unavailable && todo(f, STEP_UPDATE_1))
		return STEP_UPDATE_1;
	if (!unavailable && final(f, STEP_UPDATE_1))
		return STEP_DONE;
	if (!unavailable && ok(f, STEP_UPDATE_1))
		return !had_data && todo(f, STEP_DELETE_2) ? STEP_DELETE_2 :
							     STEP_DONE;
	if (todo(f, STEP_UPDATE_2))
		return STEP_UPDATE_2;
	return ok(f, STEP_UPDATE_2) ? next_bury_first(f) : STEP_DONE;
}

static enum step next_update_claimed(const struct fallback_facts *f)
{
	if (!ok(f, STEP_READ_1))
		return next_update_second(f);
	if (todo(f, STEP_READ_2))
		return STEP_READ_2;
	if (!ok(f, STEP_READ_2))
		return STEP_DONE;
	if (todo(f, STEP_MERGE_1))
		return STEP_MERGE_1;
	if (final(f, STEP_MERGE_1))
		return STEP_DONE;
	if (!ok(f, STEP_MERGE_1))
		return next_update_second(f);
	if (todo(f, STEP_CLAIM_NONE))
		return STEP_CLAIM_NONE;
	return ok(f, STEP_CLAIM_NONE) ? next_update_plain(f) : STEP_DONE;
}

static enum step next_update(const struct fallback_facts *f)
{
	if (todo(f, STEP_READ_1))
		return STEP_READ_1;
	if (final(f, STEP_READ_1))
		return STEP_DONE;
	return f->claim == CLAIM_NONE ? next_update_plain(f) :
					next_update_claimed(f);
}

static enum step next_delete(const struct fallback_facts *f)
{
	if (todo(f, STEP_DELETE_1))
		return STEP_DELETE_1;
	if (todo(f, STEP_DELETE_2))
		return STEP_DELETE_2;
	if (!ok(f, STEP_DELETE_2) && f->did[STEP_DELETE_2] != -ENOTSUP)
		return STEP_DONE;
	if (!ok(f, STEP_DELETE_1))
		return todo(f, STEP_CLAIM_WHOLE) ? STEP_CLAIM_WHOLE : STEP_DONE;
	if (f->claim != CLAIM_NONE && todo(f, STEP_CLAIM_NONE))
		return STEP_CLAIM_NONE;
	return STEP_DONE;
}

/* Only the second can be read and written now */
static enum step next_edit_patch(const struct fallback_facts *f)
{
	if (todo(f, STEP_PATCH_2))
		return STEP_PATCH_2;
	if (f->did[STEP_PATCH_2] == 1 && f->claim != CLAIM_PATCH &&
	    todo(f, STEP_CLAIM_PATCH))
		return STEP_CLAIM_PATCH;
	return STEP_DONE;
}

static enum step next_edit(const struct fallback_facts *f)
{
	const bool need_2 = f->claim != CLAIM_NONE ||
			    f->did[STEP_READ_1] == 0;

	if (todo(f, STEP_READ_1))
		return STEP_READ_1;
	if (final(f, STEP_READ_1))
		return STEP_DONE;
	if (!ok(f, STEP_READ_1) && f->claim != CLAIM_WHOLE)
		return next_edit_patch(f);
	if (need_2 && todo(f, STEP_READ_2))
		return STEP_READ_2;
	/* Not knowing what the second holds, we might shadow it for good */
	if (need_2 && !ok(f, STEP_READ_2) &&
	    (f->claim != CLAIM_NONE || f->did[STEP_READ_2] != -ENOTSUP))
		return STEP_DONE;
	if (todo(f, STEP_CHANGE))
		return STEP_CHANGE;
	return f->did[STEP_CHANGE] == 1 ? next_update(f) : STEP_DONE;
}

enum step fallback_next(enum verb verb, const struct fallback_facts *facts)
{
	switch (verb) {
	case VERB_READ:
		return next_read(facts);
	case VERB_UPDATE:
		return next_update(facts);
	case VERB_DELETE:
		return next_delete(facts);
	default:
		return next_edit(facts);
	}
}
