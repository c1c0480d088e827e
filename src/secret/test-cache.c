/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-cache.c - one read for many, and never an older answer */

#include "secret/cache.h"

#include <errno.h>

#include "secret/bytes.h"
#include "secret/test-fake.h"
#include "test.h"

static uint64_t now = 1000;

static uint64_t fake_clock(void)
{
	return now;
}

/**
 * struct seen - The last answer, and how many came
 */
struct seen {
	int r, answers;
	unsigned int notes;
	char data[256];
	struct err err;
};

static void on_answer(void *arg, const struct answer *answer)
{
	struct seen *seen = arg;

	seen->answers++;
	seen->r = answer->r;
	seen->notes = answer->notes;
	seen->err = answer->err;
	snprintf(seen->data, sizeof(seen->data), "%s",
		 answer->data ? bytes_str(answer->data) : "");
}

static const char *ask(struct cache *cache, struct seen *seen)
{
	*seen = (struct seen){ 0 };
	cache_read(cache, on_answer, seen);
	return seen->data;
}

TEST(a_document_is_good_for_thirty_seconds)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen;

	CHECK_STR(ask(cache, &seen), "{\"a\":1}");
	fake_set(&fake, "{\"a\":2}");
	now += 29999;
	CHECK_STR(ask(cache, &seen), "{\"a\":1}");
	CHECK_STR(fake.log, "r");
	now += 1;
	CHECK_STR(ask(cache, &seen), "{\"a\":2}");
	CHECK_STR(fake.log, "rr");
	cache_free(cache);
}

TEST(nothing_there_is_remembered_too)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, NULL), fake_clock);
	struct seen seen;

	CHECK_STR(ask(cache, &seen), "");
	CHECK_INT(seen.r, 0);
	CHECK_STR(ask(cache, &seen), "");
	CHECK_STR(fake.log, "r");
	cache_free(cache);
}

TEST(fifty_readers_share_one_read)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen[50] = { 0 };

	fake.hold = true;
	for (int i = 0; i < 50; i++)
		cache_read(cache, on_answer, &seen[i]);
	CHECK_STR(fake.log, "r");
	fake_release(&fake);
	for (int i = 0; i < 50; i++) {
		CHECK_INT(seen[i].answers, 1);
		CHECK_STR(seen[i].data, "{\"a\":1}");
	}
	cache_free(cache);
}

TEST(a_read_from_before_an_update_never_overwrites_it)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"old\":1}"),
					fake_clock);
	struct bytes new = { 0 };
	struct seen early = { 0 }, late;

	fake.hold = true;
	cache_read(cache, on_answer, &early);
	bytes_adds(&new, "{\"new\":1}");
	cache_changed(cache, &new, false);
	CHECK_STR(ask(cache, &late), "{\"new\":1}");
	fake_release(&fake);
	CHECK_STR(early.data, "{\"new\":1}");	/* It is known by now */
	CHECK_STR(ask(cache, &late), "{\"new\":1}");
	CHECK_STR(fake.log, "r");
	bytes_done(&new);
	cache_free(cache);
}

TEST(a_reader_after_a_change_does_not_join_the_read_before_it)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"old\":1}"),
					fake_clock);
	struct seen early = { 0 }, late = { 0 }, later;

	fake.hold = true;
	cache_read(cache, on_answer, &early);
	cache_changed(cache, NULL, false);
	fake_set(&fake, "{\"new\":1}");
	cache_read(cache, on_answer, &late);
	CHECK_STR(fake.log, "rr");
	fake_release(&fake);
	CHECK_STR(early.data, "{\"old\":1}");	/* Nothing newer is known */
	CHECK_INT(late.answers, 0);
	fake_release(&fake);
	CHECK_STR(late.data, "{\"new\":1}");
	CHECK_STR(ask(cache, &later), "{\"new\":1}");
	CHECK_STR(fake.log, "rr");
	cache_free(cache);
}

TEST(the_old_read_landing_last_changes_nothing)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"old\":1}"),
					fake_clock);
	struct seen early = { 0 }, late;

	fake.hold = true;
	cache_read(cache, on_answer, &early);
	cache_clear(cache);
	fake.hold = false;
	fake_set(&fake, "{\"new\":1}");
	CHECK_STR(ask(cache, &late), "{\"new\":1}");
	fake_release(&fake);
	CHECK_STR(ask(cache, &late), "{\"new\":1}");
	cache_free(cache);
}

TEST(a_failing_read_serves_the_last_good_document_and_says_so)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen;

	(void)ask(cache, &seen);
	CHECK(!(seen.notes & NOTE_STALE));
	fake_break(&fake, -EIO);
	now += CACHE_TTL_MS;
	CHECK_STR(ask(cache, &seen), "{\"a\":1}");
	CHECK_INT(seen.r, 1);
	CHECK(seen.notes & NOTE_STALE);
	CHECK_CONTAINS(seen.err.msg, "the fake fails");
	/* Also while it is not asked again */
	CHECK_STR(ask(cache, &seen), "{\"a\":1}");
	CHECK(seen.notes & NOTE_STALE);
	CHECK_STR(fake.log, "rr");
	/* And it recovers */
	fake_break(&fake, 0);
	fake_set(&fake, "{\"a\":2}");
	now += CACHE_TTL_MS;
	CHECK_STR(ask(cache, &seen), "{\"a\":2}");
	CHECK(!(seen.notes & NOTE_STALE));
	cache_free(cache);
}

TEST(a_first_read_that_fails_is_a_failure_and_is_tried_again)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen;

	fake_break(&fake, -EIO);
	(void)ask(cache, &seen);
	CHECK_INT(seen.r, -EIO);
	fake_break(&fake, 0);
	CHECK_STR(ask(cache, &seen), "{\"a\":1}");
	cache_free(cache);
}

TEST(after_a_change_there_is_nothing_stale_to_serve)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen;

	(void)ask(cache, &seen);
	cache_changed(cache, NULL, false);
	fake_break(&fake, -EIO);
	(void)ask(cache, &seen);
	CHECK_INT(seen.r, -EIO);
	cache_free(cache);
}

TEST(a_deletion_is_known_at_once)
{
	struct fake fake;
	struct cache *cache = cache_new(fake_init(&fake, "{\"a\":1}"),
					fake_clock);
	struct seen seen;

	(void)ask(cache, &seen);
	cache_changed(cache, NULL, true);
	(void)ask(cache, &seen);
	CHECK_INT(seen.r, 0);
	CHECK_STR(fake.log, "r");
	cache_free(cache);
}
