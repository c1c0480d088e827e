/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-select.c - one back end keeps a store, and only that one */

#include "secret/select.h"

#include <errno.h>

#include "secret/bytes.h"
#include "secret/place.h"
#include "secret/test-fake.h"
#include "test.h"

#define OLD "{\"o\":1}"
#define NEW "{\"n\":2}"

static struct fake fakes[SELECT_MAX];
static struct backend_ops ops[SELECT_MAX];
static struct select top;
static struct answer last;
static char data[256];

static void on_answer(void *arg, const struct answer *answer)
{
	(void)arg;
	last = *answer;
	snprintf(data, sizeof(data), "%s",
		 answer->data ? bytes_str(answer->data) : "");
}

/* Three fakes: "" holds nothing, "-" cannot work here, "!" fails */
static void begin(const char *one, const char *two, const char *three)
{
	static const char *const names[] = { "secret-service", "file",
					     "plaintext" };
	const char *const states[] = { one, two, three };
	const char *path = test_path("store");

	place_free(top.place);
	top = (struct select){ .count = SELECT_MAX, .files = "credentials" };
	top.place = place_new(path);
	for (size_t i = 0; i < SELECT_MAX; i++) {
		const bool works = !strchr("-!", *states[i]) || !*states[i];

		top.leaf[i] = fake_init(&fakes[i], works ? states[i] : NULL);
		if (!works)
			fake_break(&fakes[i],
				   *states[i] == '-' ? -ENOTSUP : -EACCES);
		ops[i] = *top.leaf[i]->ops;
		ops[i].name = names[i];
		top.leaf[i]->ops = &ops[i];
	}
	select_init(&top);
}

static const char *kept_in(void)
{
	struct backend *b = NULL;

	return select_recorded(&top, &b, NULL) > 0 ? b->ops->name : "";
}

static int update(void)
{
	auto_bytes struct bytes new = { 0 };

	bytes_adds(&new, NEW);
	backend_update(&top.base, &new, on_answer, NULL);
	return last.r;
}

static const char *seen(void)
{
	backend_read(&top.base, on_answer, NULL);
	return data;
}

static int move_to(int i)
{
	select_move(&top, top.leaf[i], on_answer, NULL);
	return last.r;
}

TEST(the_first_write_takes_the_best_that_works_and_records_it)
{
	begin("", "", "");
	CHECK_STR(seen(), "");
	CHECK_STR(kept_in(), "");
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "secret-service");
	begin("-", "-", "");
	backend_delete(&top.base, on_answer, NULL);
	CHECK_INT(last.r, -ENOTSUP);	/* What the record says counts */
}

TEST(one_that_does_not_exist_here_is_passed_over)
{
	begin("-", "", "");
	fakes[1].fail_update = -ENOTSUP;	/* No key for a new file */
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
	CHECK_STR(seen(), NEW);
}

TEST(one_that_fails_is_not_passed_over)
{
	begin("!", "", "");
	CHECK_INT(update(), -EACCES);
	CHECK_CONTAINS(last.err.msg, "--backend");
	(void)seen();
	CHECK_INT(last.r, -EACCES);
	CHECK_STR(fakes[2].data, "");
	CHECK_STR(kept_in(), "");
	top.forced = top.leaf[2];	/* Unless the user chooses */
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
}

TEST(the_recorded_one_is_the_only_one)
{
	begin("", "", "");
	CHECK_INT(update(), 1);
	for (int code = -ENOTSUP; code; code = code == -EIO ? 0 : -EIO) {
		fake_break(&fakes[0], code);
		CHECK_INT(update(), code);
		(void)seen();
		CHECK_INT(last.r, code);
		CHECK(code != -ENOTSUP ||
		      strstr(last.err.msg, "kept in secret-service"));
		CHECK_STR(fakes[1].data, "");
		CHECK_STR(fakes[2].data, "");
	}
	fake_break(&fakes[0], 0);
	fake_set(&fakes[1], OLD);
	CHECK_STR(seen(), NEW);
	CHECK_STR(fakes[1].log, "r");	/* Only before there was a record */
}

TEST(a_store_without_a_record_is_found_by_its_data)
{
	begin("", "", OLD);
	CHECK_STR(seen(), OLD);
	CHECK_STR(kept_in(), "");
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
	CHECK_STR(fakes[2].data, NEW);
	CHECK_STR(fakes[0].data, "");
}

TEST(an_outdated_copy_of_an_older_version_is_not_used)
{
	begin(OLD, "", "{\"a\":1,\"b\":{\"$removed\":\"x\"}}");
	CHECK_INT(place_write(top.place, "credentials.over-secret-service",
			      "whole\n", 6, NULL), 0);
	CHECK_STR(seen(), "{\"a\":1}");
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
	CHECK(!place_has(top.place, "credentials.over-secret-service"));
	CHECK_STR(seen(), NEW);
}

TEST(another_back_end_makes_no_second_copy)
{
	begin("", "", OLD);
	for (int recorded = 0; recorded < 2; recorded++) {
		top.forced = top.leaf[0];
		CHECK_INT(update(), -EEXIST);
		CHECK_CONTAINS(last.err.msg, "secret move --backend secret-service");
		CHECK_STR(fakes[0].data, "");
		top.forced = NULL;
		CHECK_INT(update(), 1);
	}
	top.forced = top.leaf[2];
	CHECK_INT(update(), 1);		/* The control */
}

TEST(a_damaged_store_elsewhere_is_a_store)
{
	begin("", "", "");
	fakes[1].fail_read = -EBADMSG;
	top.forced = top.leaf[2];
	CHECK_INT(update(), -EEXIST);
	top.forced = NULL;
	CHECK_INT(update(), -EBADMSG);
	CHECK_STR(fakes[2].data, "");
}

TEST(a_store_moves_and_leaves_nothing_behind)
{
	begin("", "", OLD);
	CHECK_INT(move_to(0), 1);
	CHECK_STR(kept_in(), "secret-service");
	CHECK_STR(fakes[0].data, OLD);
	CHECK_STR(fakes[2].data, "");
	CHECK_STR(seen(), OLD);
	CHECK_INT(move_to(0), 1);
	CHECK_STR(seen(), OLD);
}

TEST(a_move_that_fails_changes_nothing)
{
	begin("", "-", OLD);
	CHECK_INT(move_to(1), -ENOTSUP);
	fakes[0].fail_update = -EIO;
	CHECK_INT(move_to(0), -EIO);
	CHECK_STR(fakes[2].data, OLD);
	CHECK_STR(kept_in(), "");
	CHECK_INT(update(), 1);
	fake_set(&fakes[0], OLD);
	CHECK_INT(move_to(0), -EEXIST);
	CHECK_STR(fakes[0].data, OLD);
	CHECK_STR(fakes[2].data, NEW);
	CHECK_STR(kept_in(), "plaintext");
	begin("", "", "");
	CHECK_INT(move_to(0), 0);
}

TEST(a_move_says_that_the_old_copy_is_left)
{
	begin("", "", OLD);
	fakes[2].fail_delete = -EACCES;
	CHECK_INT(move_to(0), 1);
	CHECK(last.notes & NOTE_LEFTOVER);
	CHECK_STR(seen(), OLD);
	CHECK_STR(kept_in(), "secret-service");
}

TEST(deleting_everything_forgets_the_record)
{
	begin("", "", "");
	CHECK_INT(update(), 1);
	backend_delete(&top.base, on_answer, NULL);
	CHECK_INT(last.r, 1);
	CHECK_STR(kept_in(), "");
	begin("", OLD, OLD);		/* Without a record: every copy */
	backend_delete(&top.base, on_answer, NULL);
	CHECK_INT(last.r, 1);
	CHECK_STR(seen(), "");
}

TEST(a_record_that_names_nothing_is_refused)
{
	begin("", "", OLD);
	CHECK_INT(place_write(top.place, "credentials.backend", "floppy\n", 7,
			      NULL), 0);
	CHECK_INT(update(), -EBADMSG);
	CHECK_CONTAINS(last.err.msg, "credentials.backend");
	CHECK_STR(fakes[2].data, OLD);
}
