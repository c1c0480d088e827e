/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-store.c - the whole store, with its helpers, in a bare home */

#include "secret/store.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/sync.h"
#include "test.h"

static struct loop *loop;
static struct secret_store *store;
static struct sync last;
static uint64_t now = 1000;

/* cloche-secret-service with items in files. $HOME/spawns gets a line for each
 * start; $HOME/mood: crash, hang, or pair (answer once two were started).
 */
static const char keyring[] =
	"#!/bin/sh\n"
	"q=$(cat); verb=${q#*'\"verb\":\"'}; verb=${verb%%\\\"*}\n"
	"item=${q#*'\"service\":\"'}; item=$HOME/item-${item%%\\\"*}\n"
	"echo $verb >>$HOME/spawns\n"
	"case $(cat $HOME/mood) in\n"
	"crash) kill -9 $$ ;;\n"
	"hang) exec sleep 1000 ;;\n"
	"pair) until [ $(wc -l <$HOME/spawns) -ge 2 ]; do sleep 0.01; done ;;\n"
	"esac\n"
	"case $verb in\n"
	"update) data=${q##*'\"data\":'}; printf %s \"${data%?}\" >$item.$$\n"
	"	mv $item.$$ $item; found= ;;\n"
	"read) [ -e $item ] && found=',\"data\":'$(cat $item) || none=1 ;;\n"
	"esac\n"
	"[ $none ] && r=none || r=found\n"
	"printf '{\"version\":1,\"result\":\"%s\"%s}' $r \"$found\"\n";

static void mood(const char *word)
{
	const char *path = test_path("mood");

	test_write(path, word);
}

static uint64_t fake_clock(void)
{
	return now;
}

static struct secret_store *open_store(const char *backend, const char *service)
{
	const struct store_options options = {
		.backend = backend, .service = service, .programs = test_dir(),
		.clock = fake_clock, .helper_ms = 60000,
	};
	struct secret_store *opened = NULL;

	CHECK_INT(secret_store_open(loop, &options, &opened, NULL), 0);
	return opened;
}

/* Everything below the test's directory: no real bus, no keys, no other home */
static void begin(const char *backend)
{
	const char *helper = test_path("cloche-secret-service");

	test_home();
	if (backend && !strcmp(backend, "secret-service")) {
		test_write(helper, keyring);
		CHECK_INT(chmod(helper, 0700), 0);
		mood("");
		CHECK_INT(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:", 1), 0);
	}
	CHECK_INT(loop_new(&loop, NULL), 0);
	last.loop = loop;
	store = open_store(backend, NULL);
}

static void end(void)
{
	sync_done(&last);
	secret_store_free(store);
	loop_free(loop);
}

static int set(const char *name, const char *json)
{
	last.answered = false;
	secret_store_set(store, name, span_str(json), sync_answer, &last);
	return sync_wait(&last);
}

static int get_all(void)
{
	last.answered = false;
	secret_store_read(store, sync_answer, &last);
	return sync_wait(&last);
}

static int spawned(const char *what)
{
	const char *path = test_path("spawns");
	const char *log = test_read(path);
	int n = 0;

	for (const char *p = log; p && (p = strstr(p, what)) != NULL; p++)
		n++;
	return n;
}

TEST(names_are_set_read_and_removed)
{
	begin(NULL);
	CHECK_INT(get_all(), 0);
	CHECK_INT(set("a", "\"1\""), 1);
	CHECK(last.answer.notes & NOTE_PLAINTEXT);
	CHECK_INT(set("b", "\"2\""), 1);
	CHECK_INT(set("a", "\"3\""), 1);
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"b\":\"2\",\"a\":\"3\"}");
	last.answered = false;
	secret_store_remove(store, "b", sync_answer, &last);
	CHECK_INT(sync_wait(&last), 1);
	last.answered = false;
	secret_store_delete(store, sync_answer, &last);
	CHECK_INT(sync_wait(&last), 1);
	CHECK_INT(get_all(), 0);
	end();
}

/**
 * struct crowd - Readers that came together
 */
struct crowd {
	int answers, right;
};

static void on_answer(void *arg, const struct answer *answer)
{
	struct crowd *crowd = arg;

	crowd->answers++;
	crowd->right += answer->r == 1 && answer->data &&
			!strcmp(bytes_str(answer->data), "{\"a\":\"1\"}");
	if (crowd->answers == 50)
		loop_stop(loop, 0);
}

TEST(fifty_concurrent_reads_are_one_helper)
{
	struct crowd crowd = { 0 };

	begin("secret-service");
	CHECK_INT(set("a", "\"1\""), 1);
	secret_store_clear(store);
	CHECK_INT(spawned("read"), 1);	/* That of the edit */
	for (int i = 0; i < 50; i++)
		secret_store_read(store, on_answer, &crowd);
	CHECK_INT(crowd.answers, 0);
	CHECK_INT(loop_run(loop), 0);
	CHECK_INT(crowd.answers, 50);
	CHECK_INT(crowd.right, 50);
	CHECK_INT(spawned("read"), 2);
	end();
}

TEST(a_read_before_an_update_does_not_hide_it)
{
	struct sync early = { 0 };

	begin("secret-service");
	CHECK_INT(set("a", "\"old\""), 1);
	secret_store_clear(store);
	early.loop = loop;
	secret_store_read(store, sync_answer, &early); /* Under way */
	CHECK(!early.answered);
	CHECK_INT(set("a", "\"new\""), 1);
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":\"new\"}");
	CHECK_INT(sync_wait(&early), 1);
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":\"new\"}");
	sync_done(&early);
	end();
}

TEST(a_helper_that_fails_after_a_good_read_serves_the_old_value_and_says_so)
{
	begin("secret-service");
	CHECK_INT(set("a", "\"1\""), 1);
	mood("crash");
	CHECK_INT(get_all(), 1);
	CHECK_INT(last.answer.notes, 0);
	now += CACHE_TTL_MS;
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":\"1\"}");
	CHECK(last.answer.notes & NOTE_STALE);
	CHECK_CONTAINS(last.answer.err.msg, "crashed");
	end();
}

TEST(prefetching_two_entries_reads_them_side_by_side)
{
	struct secret_store *other;

	begin("secret-service");
	other = open_store("secret-service", "legacy");
	mood("pair");	/* Each helper waits for the other one */
	secret_store_prefetch(store);
	secret_store_prefetch(other);
	CHECK_INT(get_all(), 0);
	last.answered = false;
	secret_store_read(other, sync_answer, &last);
	CHECK_INT(sync_wait(&last), 0);
	CHECK_INT(spawned("read"), 2);
	secret_store_free(other);
	end();
}

TEST(the_entry_of_another_directory_is_another_one)
{
	const char *dir = test_path("elsewhere/cloche");
	const struct store_options options = {
		.backend = "secret-service", .programs = test_dir(), .dir = dir,
	};
	struct secret_store *other;

	begin("secret-service");
	CHECK_INT(set("a", "\"1\""), 1);
	CHECK_INT(secret_store_open(loop, &options, &other, NULL), 0);
	last.answered = false;
	secret_store_read(other, sync_answer, &last);
	CHECK_INT(sync_wait(&last), 0);
	secret_store_free(other);
	end();
}

TEST(freeing_answers_what_is_under_way)
{
	struct sync write = { 0 }, queued = { 0 }, read = { 0 };

	begin("secret-service");
	mood("hang");
	write.loop = queued.loop = read.loop = loop;
	secret_store_set(store, "a", span_str("1"), sync_answer, &write);
	secret_store_set(store, "b", span_str("1"), sync_answer, &queued);
	secret_store_read(store, sync_answer, &read);
	CHECK(!write.answered && !queued.answered && !read.answered);
	secret_store_free(store);
	CHECK_INT(write.answer.r, -ECANCELED);
	CHECK_INT(queued.answer.r, -ECANCELED);
	CHECK_INT(read.answer.r, -ECANCELED);
	loop_free(loop);
}

TEST(many_writes_at_once_are_done_in_order)
{
	struct sync syncs[500] = { 0 };

	begin("plaintext");
	for (int i = 0; i < 500; i++) {
		auto_free char *json = mem_printf("%d", i);

		syncs[i].loop = loop;
		secret_store_set(store, "n", span_str(json), sync_answer,
				 &syncs[i]);
	}
	for (int i = 0; i < 500; i++) {
		CHECK_INT(sync_wait(&syncs[i]), 1);
		sync_done(&syncs[i]);
	}
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"n\":499}");
	end();
}

TEST(more_than_a_document_can_hold_is_refused_and_changes_nothing)
{
	auto_bytes struct bytes big = { 0 };

	begin("plaintext");
	CHECK_INT(set("a", "1"), 1);
	bytes_addc(&big, '"');
	while (big.len < DOC_MAX)
		bytes_addc(&big, 'x');
	bytes_addc(&big, '"');
	CHECK_INT(set("b", big.p), -EFBIG);
	CHECK_INT(get_all(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":1}");
	end();
}

TEST(what_is_no_document_is_not_stored)
{
	begin("plaintext");
	last.answered = false;
	secret_store_update(store, span_str("[1]"), sync_answer, &last);
	CHECK_INT(sync_wait(&last), -EBADMSG);
	CHECK_INT(get_all(), 0);
	end();
}

TEST(wrong_options_are_named)
{
	const struct store_options backend = { .backend = "floppy" };
	const struct store_options service = { .service = "a/b" };
	struct secret_store *none = NULL;
	struct err err = { 0 };

	CHECK_INT(setenv("HOME", test_dir(), 1), 0);
	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(secret_store_open(loop, &backend, &none, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "'floppy'");
	CHECK_INT(secret_store_open(loop, &service, &none, &err), -EINVAL);
	CHECK(!none);
	loop_free(loop);
}
