/* SPDX-License-Identifier: Apache-2.0 */
#include "secret/fallback.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/claim.h"
#include "secret/doc.h"
#include "secret/fake.h"
#include "secret/fallback-plan.h"
#include "test.h"

#define OLD1 "{\"o\":1}"
#define OLD2 "{\"o\":2}"
#define NEW "{\"n\":3}"

/**
 * struct pair - Two fakes joined, and the last answer
 */
struct pair {
	struct fake one, two;
	enum claim claim;
	int claim_fails;
	struct backend *both;
	int r;
	char data[256];
	unsigned int notes;
	struct err err;
	int answers;
};

static int get_claim(void *arg, struct err *err)
{
	(void)err;
	return (int)((struct pair *)arg)->claim;
}

static int set_claim(void *arg, enum claim claim, struct err *err)
{
	struct pair *p = arg;

	if (fake_before_write)
		fake_before_write();
	if (p->claim_fails)
		return fail(err, p->claim_fails, "the claim fails");
	p->claim = claim;
	return 0;
}

static const struct claim_ops claim_ops = { get_claim, set_claim };

/* A state of a store: "" empty, "!" failing at everything, else its data */
static void set_state(struct fake *fake, const char *state)
{
	fake_init(fake, *state == '!' ? NULL : state);
	if (*state == '!')
		fake_break(fake, -EIO);
}

static void pair_init(struct pair *p, const char *one, const char *two)
{
	*p = (struct pair){ 0 };
	set_state(&p->one, one);
	set_state(&p->two, two);
	p->both = fallback_new(&p->one.base, &p->two.base, &claim_ops, p);
}

static void on_answer(void *arg, const struct answer *answer)
{
	struct pair *p = arg;

	p->answers++;
	p->r = answer->r;
	p->notes = answer->notes;
	p->err = answer->err;
	snprintf(p->data, sizeof(p->data), "%s",
		 answer->data ? bytes_str(answer->data) : "");
}

static void act(struct pair *p, enum verb verb)
{
	auto_bytes struct bytes data = { 0 };

	bytes_adds(&data, NEW);
	p->one.log[0] = p->two.log[0] = '\0';
	memset(p->one.log, 0, sizeof(p->one.log));
	memset(p->two.log, 0, sizeof(p->two.log));
	p->answers = 0;
	if (verb == VERB_READ)
		backend_read(p->both, on_answer, p);
	else if (verb == VERB_UPDATE)
		backend_update(p->both, &data, on_answer, p);
	else
		backend_delete(p->both, on_answer, p);
	CHECK_INT(p->answers, 1);
}

/* What a reader finds now, or "" */
static const char *seen(struct pair *p)
{
	act(p, VERB_READ);
	return p->r > 0 ? p->data : "";
}

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
		act(&p, row->verb);
		printf("# verb %d, first '%s', second '%s'\n", (int)row->verb,
		       row->one, row->two);
		CHECK_INT(p.r < 0 ? -1 : p.r, row->r);
		CHECK_STR(p.one.data, row->after_one);
		CHECK_STR(p.two.data, row->after_two);
		CHECK(p.r >= 0 || *p.err.msg);
		if (row->verb == VERB_UPDATE && row->r == 1)
			CHECK_STR(seen(&p), NEW);
		backend_free(p.both);
	}
}

TEST(a_read_takes_the_first_whenever_it_has_data)
{
	struct pair p;

	pair_init(&p, OLD1, OLD2);
	CHECK_STR(seen(&p), OLD1);
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
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_FALLBACK);
	CHECK_STR(p.one.data, "");
	CHECK_STR(p.two.data, NEW);
	CHECK_INT(p.claim, CLAIM_NONE);
	CHECK_STR(seen(&p), NEW);
	backend_free(p.both);
}

TEST(a_stale_primary_that_cannot_be_deleted_is_claimed_over)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	p.one.fail_update = p.one.fail_delete = -EACCES;
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK_STR(p.one.data, OLD1);
	CHECK_INT(p.claim, CLAIM_WHOLE);
	CHECK_STR(seen(&p), NEW);
	CHECK_STR(p.one.log, "");

	/* It works again: the next update moves back, and the claim ends */
	p.one.fail_update = p.one.fail_delete = 0;
	act(&p, VERB_UPDATE);
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
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	fake_break(&p.one, 0);
	CHECK_STR(p.one.data, OLD1);
	CHECK_STR(seen(&p), NEW);
	backend_free(p.both);
}

TEST(an_update_that_could_be_shadowed_is_a_failure)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	p.one.fail_update = p.one.fail_delete = -EACCES;
	p.claim_fails = -EROFS;
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, -EROFS);
	CHECK_CONTAINS(p.err.msg, "the claim fails");
	backend_free(p.both);
}

TEST(both_failing_says_both_and_loses_nothing)
{
	struct pair p;

	pair_init(&p, OLD1, OLD2);
	p.one.fail_update = p.two.fail_update = -ENOSPC;
	act(&p, VERB_UPDATE);
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
		act(&p, VERB_READ);
		CHECK_INT(p.r, codes[i]);
		act(&p, VERB_UPDATE);
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
	act(&p, VERB_READ);
	CHECK_INT(p.r, 0);
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(!(p.notes & NOTE_FALLBACK));
	CHECK_STR(p.one.log, "r");
	CHECK_STR(seen(&p), NEW);
	act(&p, VERB_DELETE);
	CHECK_INT(p.r, 1);
	CHECK_STR(seen(&p), "");
	/* Somewhere it does exist, with what was deleted here: still gone */
	fake_init(&p.one, OLD1);
	CHECK_STR(seen(&p), "");
	backend_free(p.both);
}

TEST(a_leftover_copy_is_mentioned)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	p.two.fail_delete = -EROFS;
	act(&p, VERB_UPDATE);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_LEFTOVER);
	CHECK_STR(seen(&p), NEW);
	backend_free(p.both);
}

/* Set "n", or with @remove take "o" out */
static int change(void *arg, struct span old, bool patch, struct bytes *ret,
		  struct err *err)
{
	const bool remove = *(const bool *)arg;
	struct span value;

	(void)err;
	if (!remove)
		doc_put(old, "n", span_str("3"), ret);
	else if (patch)
		doc_put(old, "o", span_str("null"), ret);
	else if (doc_find(old, "o", &value))
		doc_drop(old, "o", ret);
	else
		return 0;
	return 1;
}

static void edit(struct pair *p, bool remove)
{
	p->answers = 0;
	backend_edit(p->both, change, &remove, on_answer, p);
	CHECK_INT(p->answers, 1);
}

TEST(an_edit_starts_from_what_a_reader_sees)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	edit(&p, false);
	CHECK_INT(p.r, 1);
	CHECK_STR(p.one.data, "{\"o\":2,\"n\":3}");
	CHECK_STR(p.data, "{\"o\":2,\"n\":3}");
	CHECK_STR(p.two.data, "");
	edit(&p, true);
	CHECK_STR(p.one.data, "{\"n\":3}");
	edit(&p, true);
	CHECK_INT(p.r, 0);
	backend_free(p.both);
}

TEST(an_edit_while_the_first_is_locked_is_a_patch)
{
	struct pair p;

	pair_init(&p, OLD1, "");
	fake_break(&p.one, -EACCES);
	edit(&p, false);
	CHECK_INT(p.r, 1);
	CHECK(p.notes & NOTE_FALLBACK);
	CHECK_STR(p.two.data, "{\"n\":3}");
	CHECK_INT(p.claim, CLAIM_PATCH);
	CHECK_STR(seen(&p), "{\"n\":3}");

	/* Unlocked: both are there; nothing is lost */
	fake_break(&p.one, 0);
	CHECK_STR(seen(&p), "{\"o\":1,\"n\":3}");
	edit(&p, true);
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
	edit(&p, true);
	CHECK_INT(p.r, 1);
	CHECK_STR(seen(&p), "{}");
	fake_break(&p.one, 0);
	CHECK_STR(seen(&p), "{\"k\":2}");
	edit(&p, false);
	CHECK_STR(p.one.data, "{\"k\":2,\"n\":3}");
	backend_free(p.both);
}

static int writes_left;

static void crash_in_time(void)
{
	if (writes_left-- == 0)
		_exit(77);
}

/* Do it in a child that dies before its write number @n, on memory that both
 * share. True if it got to the end.
 */
static bool crashed_at(struct pair *p, int n, void (*act_it)(struct pair *))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		writes_left = n;
		fake_before_write = crash_in_time;
		act_it(p);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return !WEXITSTATUS(status);
}

static void set_n(struct pair *p)
{
	edit(p, false);
}

static void update_all(struct pair *p)
{
	act(p, VERB_UPDATE);
}

/**
 * struct crash - A beginning, an operation, and all that may be seen after
 */
static const struct crash {
	const char *one, *two;
	enum claim claim;
	bool locked;
	void (*act)(struct pair *p);
	const char *old, *new;
} crashes[] = {
	{ "", "", CLAIM_NONE, false, update_all, "", NEW },
	{ OLD1, "", CLAIM_NONE, false, update_all, OLD1, NEW },
	{ "", OLD2, CLAIM_NONE, false, update_all, OLD2, NEW },
	{ OLD1, "", CLAIM_NONE, true, update_all, OLD1, NEW },
	{ OLD1, OLD2, CLAIM_WHOLE, false, update_all, OLD2, NEW },
	{ OLD1, OLD2, CLAIM_PATCH, false, update_all, OLD2, NEW },
	{ OLD1, "{\"p\":4,\"o\":null}", CLAIM_PATCH, false, update_all,
	  "{\"p\":4}", NEW },
	{ OLD1, "{\"p\":4}", CLAIM_PATCH, false, set_n,
	  "{\"o\":1,\"p\":4}", "{\"o\":1,\"p\":4,\"n\":3}" },
	{ OLD1, "{\"p\":4}", CLAIM_WHOLE, false, set_n,
	  "{\"p\":4}", "{\"p\":4,\"n\":3}" },
	{ OLD1, "", CLAIM_NONE, true, set_n,
	  OLD1, "{\"o\":1,\"n\":3}" },
	{ OLD1, "{\"p\":4}", CLAIM_PATCH, true, set_n,
	  "{\"o\":1,\"p\":4}", "{\"o\":1,\"p\":4,\"n\":3}" },
};

TEST(a_crash_at_any_write_shows_old_or_new)
{
	struct pair *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
		const struct crash *c = &crashes[i];
		bool finished = false;

		for (int n = 0; !finished; n++) {
			const char *after;

			pair_init(p, c->one, c->two);
			p->claim = c->claim;
			if (c->locked)
				fake_break(&p->one, -EACCES);
			finished = crashed_at(p, n, c->act);
			fake_break(&p->one, 0);	/* Unlocked later */
			after = seen(p);
			printf("# case %zu, write %d: %s\n", i, n, after);
			if (finished || strcmp(after, c->old) != 0)
				CHECK_STR(after, c->new);
			backend_free(p->both);
		}
	}
}

TEST(an_edit_does_not_start_from_what_it_cannot_read)
{
	struct pair p;

	pair_init(&p, "", OLD2);
	p.two.fail_read = -EIO;
	edit(&p, false);
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
	set_state(&outer.one, OLD1);
	fake_break(&outer.one, -EACCES);
	outer.both = fallback_new(&outer.one.base, inner.both, &claim_ops,
				  &outer);
	edit(&outer, false);
	CHECK_INT(outer.r, 1);
	CHECK(outer.notes & NOTE_PLAINTEXT);
	CHECK_STR(inner.two.data, "{\"n\":3}");
	fake_break(&outer.one, 0);
	fake_break(&inner.one, 0);
	CHECK_STR(seen(&outer), "{\"o\":1,\"n\":3}");
	edit(&outer, true);
	CHECK_STR(outer.one.data, "{\"n\":3}");
	CHECK_STR(inner.two.data, "");
	CHECK_STR(inner.one.data, "");
	backend_free(outer.both);
}
