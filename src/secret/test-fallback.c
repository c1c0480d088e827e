/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-fallback.c - two stores behave as one, whichever fails */

#include "secret/fallback.h"

#include <errno.h>

#include "base/own.h"
#include "secret/backend.h"
#include "secret/test-pair.h"
#include "test.h"

/**
 * struct row - One line of the truth table
 * @one:	The first store before; "!" fails at everything
 * @two:	The second store before
 * @r:		The answer: 1, 0 or -1 for a failure
 * @after_one:	The first store after ("" also for a failing one)
 * @after_two:	The second store after
 */
struct row {
	enum verb verb;
	const char *one, *two;
	int r;
	const char *after_one, *after_two;
};

static const struct row truth[] = {
	{ VERB_UPDATE, "",   "",   1,  NEW,  "" },
	{ VERB_UPDATE, "",   OLD2, 1,  NEW,  "" },	/* Migration */
	{ VERB_UPDATE, "",   "!",  1,  NEW,  "" },
	{ VERB_UPDATE, OLD1, "",   1,  NEW,  "" },
	{ VERB_UPDATE, OLD1, OLD2, 1,  NEW,  OLD2 },	/* Shadowed, left */
	{ VERB_UPDATE, OLD1, "!",  1,  NEW,  "" },
	{ VERB_UPDATE, "!",  "",   1,  "",   NEW },
	{ VERB_UPDATE, "!",  OLD2, 1,  "",   NEW },
	{ VERB_UPDATE, "!",  "!",  -1, "",   "" },

	{ VERB_READ,   "",   "",   0,  "",   "" },
	{ VERB_READ,   "",   OLD2, 1,  "",   OLD2 },
	{ VERB_READ,   "",   "!",  -1, "",   "" },
	{ VERB_READ,   OLD1, "",   1,  OLD1, "" },
	{ VERB_READ,   OLD1, OLD2, 1,  OLD1, OLD2 },
	{ VERB_READ,   OLD1, "!",  1,  OLD1, "" },
	{ VERB_READ,   "!",  "",   -1, "",   "" },
	{ VERB_READ,   "!",  OLD2, 1,  "",   OLD2 },
	{ VERB_READ,   "!",  "!",  -1, "",   "" },

	{ VERB_DELETE, "",   "",   0,  "",   "" },
	{ VERB_DELETE, "",   OLD2, 1,  "",   "" },
	{ VERB_DELETE, "",   "!",  -1, "",   "" },
	{ VERB_DELETE, OLD1, "",   1,  "",   "" },
	{ VERB_DELETE, OLD1, OLD2, 1,  "",   "" },
	{ VERB_DELETE, OLD1, "!",  -1, "",   "" },
	{ VERB_DELETE, "!",  "",   -1, "",   "" },
	{ VERB_DELETE, "!",  OLD2, -1, "",   "" },
	{ VERB_DELETE, "!",  "!",  -1, "",   "" },
};

TEST(the_truth_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(truth); i++) {
		const struct row *row = &truth[i];
		struct pair p;

		pair_init(&p, row->one, row->two);
		pair_act(&p, row->verb);
		printf("# verb %d, first '%s', second '%s'\n", (int)row->verb,
		       row->one, row->two);
		CHECK_INT(p.r < 0 ? -1 : p.r, row->r);
		CHECK_STR(p.one.data, row->after_one);
		CHECK_STR(p.two.data, row->after_two);
		CHECK(p.r >= 0 || *p.err.msg);
		if (row->verb == VERB_UPDATE && row->r == 1)
			CHECK_STR(pair_seen(&p), NEW);
		backend_free(p.both);
	}
}

TEST(a_read_takes_the_first_whenever_it_has_data)
{
	struct pair p;

	pair_init(&p, OLD1, OLD2);
	CHECK_STR(pair_seen(&p), OLD1);
	CHECK_STR(p.two.log, "");	/* It is not even asked */
	backend_free(p.both);
}

/* The login loop: the first cannot be written any more, its old token stays,
 * and every read finds that one instead of the new
 */
TEST(a_stale_primary_never_shadows_the_new_value)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	p.one.fail_update = -EIO;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_FALLBACK);
	CHECK_STR(p.one.data, "");
	CHECK_STR(p.two.data, NEW);
	CHECK_INT(p.claim, CLAIM_NONE);
	CHECK_STR(pair_seen(&p), NEW);
	backend_free(p.both);
}

TEST(a_stale_primary_that_cannot_be_deleted_is_claimed_over)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	p.one.fail_update = p.one.fail_delete = -EACCES;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK_STR(p.one.data, OLD1);
	CHECK_INT(p.claim, CLAIM_WHOLE);
	CHECK_STR(pair_seen(&p), NEW);
	CHECK_STR(p.one.log, "");

	/* It works again: the next update moves back, and the claim ends */
	p.one.fail_update = p.one.fail_delete = 0;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK_STR(p.one.data, NEW);
	CHECK_STR(p.two.data, "");
	CHECK_INT(p.claim, CLAIM_NONE);
	backend_free(p.both);
}

TEST(a_locked_primary_comes_back_without_shadowing)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	fake_break(&p.one, -EACCES);
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	fake_break(&p.one, 0);
	CHECK_STR(p.one.data, OLD1);
	CHECK_STR(pair_seen(&p), NEW);
	backend_free(p.both);
}

TEST(an_update_that_could_be_shadowed_is_a_failure)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	p.one.fail_update = p.one.fail_delete = -EACCES;
	p.claim_fails = -EROFS;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, -EROFS);
	CHECK_CONTAINS(p.err.msg, "the claim fails");
	backend_free(p.both);
}

TEST(both_failing_says_both_and_loses_nothing)
{
	struct pair p;

	pair_init(&p, OLD1, OLD2);
	p.one.fail_update = p.two.fail_update = -ENOSPC;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, -ENOSPC);
	CHECK_CONTAINS(p.err.msg, "fake: the fake fails; fake: the fake fails");
	CHECK_STR(p.one.data, OLD1);
	CHECK_STR(p.two.data, OLD2);
	CHECK_INT(p.claim, CLAIM_NONE);
	backend_free(p.both);
}

TEST(what_a_person_must_look_at_is_not_papered_over)
{
	static const int codes[] = { -EKEYREJECTED, -EBADMSG, -EPERM, -ENOKEY };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct pair p;

		pair_init(&p, OLD1, OLD2);
		fake_break(&p.one, codes[i]);
		pair_act(&p, VERB_READ);
		CHECK_INT(p.r, codes[i]);
		pair_act(&p, VERB_UPDATE);
		CHECK_INT(p.r, codes[i]);
		CHECK_STR(p.two.data, OLD2);
		backend_free(p.both);
	}
}

TEST(a_store_that_does_not_exist_here_is_no_failure)
{
	struct pair p;

	pair_init(&p, "", "");
	fake_break(&p.one, -ENOTSUP);
	pair_act(&p, VERB_READ);
	CHECK_INT(p.r, 0);
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(!(p.notes & NOTE_FALLBACK));
	CHECK_STR(p.one.log, "r");
	CHECK_STR(pair_seen(&p), NEW);
	pair_act(&p, VERB_DELETE);
	CHECK_INT(p.r, 1);
	CHECK_STR(pair_seen(&p), "");
	/* Somewhere it does exist, with what was deleted here: still gone */
	fake_init(&p.one, OLD1);
	CHECK_STR(pair_seen(&p), "");
	backend_free(p.both);
}

TEST(a_leftover_copy_is_mentioned)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	p.two.fail_delete = -EROFS;
	pair_act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_LEFTOVER);
	CHECK_STR(pair_seen(&p), NEW);
	backend_free(p.both);
}

TEST(an_edit_starts_from_what_a_reader_sees)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	pair_edit(&p, false);
	CHECK_INT(p.r, 1);
	CHECK_STR(p.one.data, "{\"o\":2,\"n\":3}");
	CHECK_STR(p.data, "{\"o\":2,\"n\":3}");
	CHECK_STR(p.two.data, "");
	pair_edit(&p, true);
	CHECK_STR(p.one.data, "{\"n\":3}");
	pair_edit(&p, true);
	CHECK_INT(p.r, 0);
	backend_free(p.both);
}

TEST(an_edit_while_the_first_is_locked_is_a_patch)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	fake_break(&p.one, -EACCES);
	pair_edit(&p, false);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_FALLBACK);
	CHECK_STR(p.two.data, "{\"n\":3}");
	CHECK_INT(p.claim, CLAIM_PATCH);
	CHECK_STR(pair_seen(&p), "{\"n\":3}");

	/* Unlocked: both are there; nothing is lost */
	fake_break(&p.one, 0);
	CHECK_STR(pair_seen(&p), "{\"o\":1,\"n\":3}");
	pair_edit(&p, true);
	CHECK_STR(p.one.data, "{\"n\":3}");
	CHECK_STR(p.two.data, "");
	CHECK_INT(p.claim, CLAIM_NONE);
	backend_free(p.both);
}

TEST(what_was_removed_while_locked_stays_removed)
{
	struct pair p;

	pair_init(&p, "{\"o\":1,\"k\":2}", "");
	fake_break(&p.one, -EACCES);
	pair_edit(&p, true);
	CHECK_INT(p.r, 1);
	CHECK_STR(pair_seen(&p), "{}");
	fake_break(&p.one, 0);
	CHECK_STR(pair_seen(&p), "{\"k\":2}");
	pair_edit(&p, false);
	CHECK_STR(p.one.data, "{\"k\":2,\"n\":3}");
	backend_free(p.both);
}

TEST(an_edit_does_not_start_from_what_it_cannot_read)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	p.two.fail_read = -EIO;
	pair_edit(&p, false);
	CHECK_INT(p.r, -EIO);
	CHECK_STR(p.one.data, "");
	CHECK_STR(p.two.data, OLD2);
	backend_free(p.both);
}

TEST(fallbacks_nest)
{
	struct pair inner, outer;

	pair_init(&inner, "", "");
	fake_break(&inner.one, -ENOTSUP);
	inner.two.notes = NOTE_PLAINTEXT;
	outer = (struct pair){ 0 };
	pair_set(&outer.one, OLD1);
	fake_break(&outer.one, -EACCES);
	outer.both = fallback_new(&outer.one.base, inner.both, &pair_claim_ops,
				  &outer);
	pair_edit(&outer, false);
	CHECK_INT(outer.r, 1);
	CHECK(outer.notes & NOTE_PLAINTEXT);
	CHECK_STR(inner.two.data, "{\"n\":3}");
	fake_break(&outer.one, 0);
	fake_break(&inner.one, 0);
	CHECK_STR(pair_seen(&outer), "{\"o\":1,\"n\":3}");
	pair_edit(&outer, true);
	CHECK_STR(outer.one.data, "{\"n\":3}");
	CHECK_STR(inner.two.data, "");
	CHECK_STR(inner.one.data, "");
	backend_free(outer.both);
}

/* Removed while both the first and the inner first are locked: the tombstone
 * has to travel through the inner fallback, which has tombstones of its own
 */
TEST(what_was_removed_stays_removed_through_a_nested_fallback)
{
	struct pair inner, outer;
	struct backend_ops named;

	pair_init(&inner, "{\"i\":1}", "");
	outer = (struct pair){ 0 };
	pair_set(&outer.one, "{\"o\":1,\"k\":2}");
	named = *outer.one.base.ops;
	named.name = "outer";
	outer.one.base.ops = &named;
	outer.both = fallback_new(&outer.one.base, inner.both, &pair_claim_ops,
				  &outer);
	for (int locked = 0; locked < 2; locked++) {
		fake_break(&outer.one, -EACCES);
		fake_break(&inner.one, locked ? -EACCES : 0);
		pair_edit(&outer, true);
		CHECK_INT(outer.r, 1);
		pair_edit(&outer, false);
		fake_break(&outer.one, 0);
		fake_break(&inner.one, 0);
		CHECK_STR(pair_seen(&outer), "{\"k\":2,\"i\":1,\"n\":3}");
	}
	backend_free(outer.both);
}
