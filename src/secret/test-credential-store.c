/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-credential-store.c - the choice of the back end of a store */

#include "secret/credential-store.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "secret/private-dir.h"
#include "test.h"

#define OLD "{\"o\":1}"
#define NEW "{\"n\":2}"

enum { FAKES = 3 };

/**
 * struct fake - A back end in memory
 * @data:	The document; "" for none
 * @fail_read:	0, or the errno that every read answers with; and so on
 * @reads:	How often it was read
 */
static struct fake {
	char data[256];
	int fail_read, fail_write, fail_remove, reads;
} fakes[FAKES];

static struct store s;
static struct err err;
static char data[256];

static int fake_read(struct fake *fake, json_t **ret, struct err *why)
{
	fake->reads++;
	if (fake->fail_read)
		return fail(why, fake->fail_read, "the fake fails");
	if (!*fake->data)
		return 0;
	return document_parse(fake->data, strlen(fake->data), "fake", ret,
			      why) < 0 ? -EBADMSG : 1;
}

static int fake_write(struct fake *fake, const struct bytes *text,
		      struct err *why)
{
	if (fake->fail_write)
		return fail(why, fake->fail_write, "the fake fails");
	snprintf(fake->data, sizeof(fake->data), "%s", bytes_str(text));
	return 0;
}

static int fake_remove(struct fake *fake, struct err *why)
{
	const int had = *fake->data != '\0';

	if (fake->fail_remove)
		return fail(why, fake->fail_remove, "the fake fails");
	fake->data[0] = '\0';
	return had;
}

#define FAKE(i)								\
	static int read_##i(struct store *of, json_t **r, struct err *e)	\
	{ (void)of; return fake_read(&fakes[i], r, e); }				\
	static int write_##i(struct store *of, const struct bytes *t,	\
			     struct err *e)				\
	{ (void)of; return fake_write(&fakes[i], t, e); }				\
	static int remove_##i(struct store *of, struct err *e)		\
	{ (void)of; return fake_remove(&fakes[i], e); }
FAKE(0)
FAKE(1)
FAKE(2)

static const struct backend keyring = { "secret-service", read_0, write_0,
					remove_0 };
static const struct backend file = { "file", read_1, write_1, remove_1 };
static const struct backend plain = { "plaintext", read_2, write_2, remove_2 };
static const struct backend *const table[] = { &keyring, &file, &plain, NULL };

static void hold(struct fake *fake, const char *text)
{
	snprintf(fake->data, sizeof(fake->data), "%s", text);
}

static void open_store(const char *service, const char *backend)
{
	const struct key_source no_key = { 0 };

	test_home();
	CHECK_INT(store_open(&s, service, backend, &no_key, &err), 0);
}

/* Three fakes: "" holds nothing, "-" cannot work here, "!" fails */
static void begin(const char *one, const char *two, const char *three)
{
	const char *const states[] = { one, two, three };

	if (s.files)
		store_close(&s);
	open_store(NULL, NULL);
	s.backends = table;
	for (size_t i = 0; i < FAKES; i++) {
		const int code = *states[i] == '-' ? -ENOTSUP :
				 *states[i] == '!' ? -EACCES : 0;

		fakes[i] = (struct fake){ .fail_read = code, .fail_write = code,
					  .fail_remove = code };
		hold(&fakes[i], code ? "" : states[i]);
	}
}

static void fake_break(struct fake *fake, int code)
{
	fake->fail_read = fake->fail_write = fake->fail_remove = code;
}

static const char *kept_in(void)
{
	const struct backend *b = NULL;

	return store_recorded(&s, &b, NULL) > 0 ? b->name : "";
}

static int replace(json_t *doc, void *arg, struct err *why)
{
	(void)why;
	(void)json_object_clear(doc);
	document_put(doc, arg, json_integer(2));
	return 1;
}

/* Write NEW */
static int update(void)
{
	static char name[] = "n";

	err = (struct err){ 0 };
	return store_edit(&s, false, replace, name, &err);
}

/* The result of a read; @data gets the document */
static int look(void)
{
	json_auto_t *doc = NULL;
	auto_bytes struct bytes text = { 0 };
	int r;

	err = (struct err){ 0 };
	r = store_read(&s, &doc, &err);
	if (doc)
		document_print(doc, &text);
	snprintf(data, sizeof(data), "%s", bytes_str(&text));
	return r;
}

static const char *seen(void)
{
	(void)look();
	return data;
}

TEST(the_first_write_selects_and_records_the_best_back_end)
{
	begin("", "", "");
	CHECK_STR(seen(), "");
	CHECK_STR(kept_in(), "");
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "secret-service");
	begin("-", "-", "");
	CHECK_INT(store_remove(&s, &err), -ENOTSUP);	/* The record counts */
}

TEST(an_unavailable_back_end_is_skipped)
{
	begin("-", "", "");
	fakes[1].fail_write = -ENOTSUP;	/* No key for a new file */
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
	CHECK_STR(seen(), NEW);
}

TEST(a_failing_back_end_is_not_skipped)
{
	begin("!", "", "");
	CHECK_INT(update(), -EACCES);
	CHECK_CONTAINS(err.msg, "--backend");
	CHECK_INT(look(), -EACCES);
	CHECK_STR(fakes[2].data, "");
	CHECK_STR(kept_in(), "");
	s.forced = &plain;		/* Unless the user chooses */
	CHECK_INT(update(), 1);
	CHECK_STR(kept_in(), "plaintext");
}

TEST(only_the_recorded_back_end_is_used)
{
	begin("", "", "");
	CHECK_INT(update(), 1);
	fakes[1].reads = 0;
	for (int code = -ENOTSUP; code; code = code == -EIO ? 0 : -EIO) {
		fake_break(&fakes[0], code);
		CHECK_INT(update(), code);
		CHECK_INT(look(), code);
		CHECK(code != -ENOTSUP ||
		      strstr(err.msg, "kept in secret-service"));
		CHECK_STR(fakes[1].data, "");
		CHECK_STR(fakes[2].data, "");
	}
	fake_break(&fakes[0], 0);
	hold(&fakes[1], OLD);
	CHECK_STR(seen(), NEW);
	CHECK_INT(fakes[1].reads, 0);
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

TEST(selecting_another_back_end_makes_no_second_copy)
{
	begin("", "", OLD);
	for (int recorded = 0; recorded < 2; recorded++) {
		s.forced = &keyring;
		CHECK_INT(update(), -EEXIST);
		CHECK_CONTAINS(err.msg, "secret move --backend secret-service");
		CHECK_STR(fakes[0].data, "");
		s.forced = NULL;
		CHECK_INT(update(), 1);
	}
	s.forced = &plain;
	CHECK_INT(update(), 1);		/* The control */
}

TEST(a_damaged_store_in_another_back_end_is_an_error)
{
	begin("", "", "");
	fakes[1].fail_read = -EBADMSG;
	s.forced = &plain;
	CHECK_INT(update(), -EEXIST);
	s.forced = NULL;
	CHECK_INT(update(), -EBADMSG);
	CHECK_STR(fakes[2].data, "");
}

TEST(a_store_moves_and_leaves_nothing_behind)
{
	begin("", "", OLD);
	CHECK_INT(store_move(&s, "secret-service", &err), 1);
	CHECK_STR(kept_in(), "secret-service");
	CHECK_STR(fakes[0].data, OLD);
	CHECK_STR(fakes[2].data, "");
	CHECK_STR(seen(), OLD);
	CHECK_INT(store_move(&s, "secret-service", &err), 1);
	CHECK_STR(seen(), OLD);
}

TEST(a_move_that_fails_changes_nothing)
{
	begin("", "-", OLD);
	CHECK_INT(store_move(&s, "file", &err), -ENOTSUP);
	fakes[0].fail_write = -EIO;
	CHECK_INT(store_move(&s, "secret-service", &err), -EIO);
	CHECK_STR(fakes[2].data, OLD);
	CHECK_STR(kept_in(), "");
	CHECK_INT(update(), 1);
	hold(&fakes[0], OLD);
	CHECK_INT(store_move(&s, "secret-service", &err), -EEXIST);
	CHECK_STR(fakes[0].data, OLD);
	CHECK_STR(fakes[2].data, NEW);
	CHECK_STR(kept_in(), "plaintext");
	begin("", "", "");
	CHECK_INT(store_move(&s, "secret-service", &err), 0);
	CHECK_INT(store_move(&s, "floppy", &err), -EINVAL);
}

TEST(a_move_warns_when_the_old_copy_remains)
{
	begin("", "", OLD);
	fakes[2].fail_remove = -EACCES;
	CHECK_INT(store_move(&s, "secret-service", &err), 1);
	CHECK(s.warnings & WARN_LEFTOVER);
	CHECK_STR(seen(), OLD);
	CHECK_STR(kept_in(), "secret-service");
}

TEST(deleting_a_store_deletes_its_record)
{
	begin("", "", "");
	CHECK_INT(update(), 1);
	CHECK_INT(store_remove(&s, &err), 1);
	CHECK_STR(kept_in(), "");
	begin("", OLD, OLD);		/* Without a record: every copy */
	CHECK_INT(store_remove(&s, &err), 1);
	CHECK_STR(seen(), "");
}

TEST(deleting_an_unused_copy_keeps_the_record)
{
	begin("", "", "");
	CHECK_INT(update(), 1);
	hold(&fakes[2], OLD);
	s.forced = &plain;
	CHECK_INT(store_remove(&s, &err), 1);
	CHECK_STR(fakes[2].data, "");
	s.forced = NULL;
	CHECK_STR(kept_in(), "secret-service");
	CHECK_STR(seen(), NEW);
}

TEST(a_record_with_an_unknown_back_end_is_refused)
{
	begin("", "", OLD);
	CHECK_INT(private_dir_write(s.dir, "credentials.backend", "floppy\n", 7,
				    NULL), 0);
	CHECK_INT(update(), -EBADMSG);
	CHECK_CONTAINS(err.msg, "credentials.backend");
	CHECK_STR(fakes[2].data, OLD);
}

static int put_number(json_t *doc, void *arg, struct err *why)
{
	(void)why;
	document_put(doc, arg, json_string("1"));
	return 1;
}

static int drop(json_t *doc, void *arg, struct err *why)
{
	(void)why;
	return !json_object_del(doc, arg);
}

TEST(the_real_back_ends_store_and_list_names)
{
	char a[] = "a", b[] = "b";

	open_store(NULL, NULL);
	CHECK_INT(look(), 0);
	CHECK_INT(store_edit(&s, true, drop, a, &err), 0);
	CHECK(access(s.dir->path, F_OK) < 0);
	CHECK_INT(store_edit(&s, false, put_number, a, &err), 1);
	CHECK(s.warnings & WARN_PLAINTEXT);
	CHECK_INT(store_edit(&s, false, put_number, b, &err), 1);
	CHECK_INT(store_edit(&s, false, put_number, a, &err), 1);
	CHECK_STR(seen(), "{\"b\":\"1\",\"a\":\"1\"}");
	CHECK_INT(store_edit(&s, true, drop, b, &err), 1);
	CHECK_INT(store_edit(&s, true, drop, b, &err), 0);
	CHECK_INT(store_remove(&s, &err), 1);
	CHECK_INT(look(), 0);
	store_close(&s);
}

/* A value so large that the document with it has @n bytes */
static int put_large(json_t *doc, void *arg, struct err *why)
{
	const size_t n = *(size_t *)arg - strlen("{\"a\":1,\"big\":\"\"}");
	auto_bytes struct bytes value = { 0 };

	(void)why;
	while (value.len < n)
		bytes_add(&value, "x", 1);
	document_put(doc, "big", json_string(value.p));
	return 1;
}

static int put_small(json_t *doc, void *arg, struct err *why)
{
	(void)arg;
	(void)why;
	document_put(doc, "a", json_integer(1));
	return 1;
}

TEST(more_than_a_document_can_hold_is_refused_and_changes_nothing)
{
	size_t n = DOCUMENT_MAX + 1;

	open_store(NULL, "plaintext");
	CHECK_INT(store_edit(&s, false, put_small, NULL, &err), 1);
	CHECK_INT(store_edit(&s, false, put_large, &n, &err), -EFBIG);
	CHECK_STR(seen(), "{\"a\":1}");
	n = DOCUMENT_MAX;
	CHECK_INT(store_edit(&s, false, put_large, &n, &err), 1);
	CHECK_INT(look(), 1);
	store_close(&s);
}

TEST(each_state_directory_has_its_own_keyring_entry)
{
	char usual[SERVICE_SIZE];

	open_store(NULL, NULL);
	snprintf(usual, sizeof(usual), "%s", s.entry);
	CHECK_STR(usual, "cloche");
	store_close(&s);
	CHECK_INT(setenv("XDG_STATE_HOME", test_path("elsewhere"), 1), 0);
	CHECK_INT(store_open(&s, NULL, NULL, &(struct key_source){ 0 }, &err),
		  0);
	CHECK(strcmp(s.entry, usual) != 0);
	store_close(&s);
}

TEST(wrong_options_are_named)
{
	const struct key_source no_key = { 0 };

	test_home();
	CHECK_INT(store_open(&s, NULL, "floppy", &no_key, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "'floppy'");
	CHECK_INT(store_open(&s, "a/b", NULL, &no_key, &err), -EINVAL);
	CHECK(!s.files);
}
