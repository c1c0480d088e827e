/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-vault.c - the encrypted file: every change is noticed */

#include "secret/vault.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/crypt.h"
#include "secret/doc.h"
#include "secret/place.h"
#include "test.h"

#define KEY_TEXT "0123456789abcdef0123456789abcdef"

static struct place *place, *state;
static struct err err;
static unsigned int notes;

static struct vault *open_with(const char *service, struct key_source key)
{
	const struct vault_spec spec = {
		.place = place, .state = state, .name = "v.enc",
		.service = service, .key = key,
	};

	return vault_new(&spec);
}

/* A vault with a key file; the usual in these tests, because it is quick */
static struct vault *begin(void)
{
	static char key[512];

	if (!place) {
		place = place_new(test_path("store"));
		state = place_new(test_path("state"));
		snprintf(key, sizeof(key), "%s", test_path("key"));
		test_write(key, KEY_TEXT);
		CHECK_INT(chmod(key, 0600), 0);
	}
	return open_with("cloche", (struct key_source){ .key_file = key });
}

static int put(struct vault *v, const char *text)
{
	auto_bytes struct bytes data = { 0 };

	bytes_adds(&data, text);
	notes = 0;
	err.msg[0] = '\0';
	return vault_update(v, &data, &notes, &err);
}

static int get(struct vault *v, const char *want)
{
	auto_bytes struct bytes data = { 0 };
	int r;

	notes = 0;
	err.msg[0] = '\0';
	r = vault_read(v, &data, &notes, &err);
	CHECK_STR(bytes_str(&data), want);
	return r;
}

TEST(a_document_comes_back)
{
	struct vault *v = begin(), *other;

	CHECK_INT(get(v, ""), 0);
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(notes, 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	vault_free(v);
	other = begin();
	CHECK_INT(get(other, "{\"a\":1}"), 1);
	CHECK_INT(vault_delete(other, NULL), 1);
	CHECK_INT(vault_delete(other, NULL), 0);
	CHECK_INT(get(other, ""), 0);
	vault_free(other);
}

static char *load(size_t *n)
{
	auto_bytes struct bytes file = { 0 };
	char *copy;

	CHECK_INT(place_read(place, "v.enc", 1 << 20, &file, NULL), 1);
	copy = malloc(file.len);
	memcpy(copy, file.p, file.len);
	*n = file.len;
	return copy;
}

TEST(the_file_does_not_show_what_is_in_it)
{
	struct vault *v = begin();
	char *one, *two;
	size_t n, m;

	CHECK_INT(put(v, "{\"n4me\":\"s3cret\"}"), 1);
	one = load(&n);
	CHECK(!memmem(one, n, "s3cret", 6));
	CHECK(!memmem(one, n, "n4me", 4));
	/* The same content twice: nothing but the header is the same */
	CHECK_INT(put(v, "{\"n4me\":\"s3cret\"}"), 1);
	two = load(&m);
	CHECK_INT(n, m);
	CHECK(memcmp(one + CRYPT_HEADER, two + CRYPT_HEADER, n - CRYPT_HEADER));
	free(one);
	free(two);
	vault_free(v);
}

TEST(every_changed_byte_is_noticed)
{
	struct vault *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	file = load(&n);
	for (size_t i = 0; i < n; i++) {
		file[i] ^= 0x20;
		CHECK_INT(place_write(place, "v.enc", file, n, NULL), 0);
		CHECK(get(v, "") < 0);
		CHECK(*err.msg);
		CHECK(answer_is_final(err.code));
		/* And nothing is written over it */
		CHECK(put(v, "{}") < 0);
		file[i] ^= 0x20;
	}
	CHECK_INT(place_write(place, "v.enc", file, n, NULL), 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	free(file);
	vault_free(v);
}

TEST(truncated_and_garbage_are_said_to_be_so)
{
	struct vault *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	file = load(&n);
	for (size_t i = 0; i < n; i++) {
		CHECK_INT(place_write(place, "v.enc", file, i, NULL), 0);
		CHECK_INT(get(v, ""), -EBADMSG);
		CHECK_CONTAINS(err.msg, "store/v.enc: ");
	}
	CHECK_INT(place_write(place, "v.enc", "{\"plain\":1}", 11, NULL), 0);
	CHECK_INT(get(v, ""), -EBADMSG);
	CHECK_CONTAINS(err.msg, "not an encrypted store");
	free(file);
	vault_free(v);
}

TEST(a_file_of_another_service_does_not_open)
{
	struct vault *v = begin();
	struct vault *other = open_with("other", (struct key_source){
		.key_file = test_path("key") });

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(other, ""), -EBADMSG);
	CHECK_CONTAINS(err.msg, "another service");
	vault_free(other);
	vault_free(v);
}

TEST(the_wrong_key_is_said_to_be_wrong_and_changes_nothing)
{
	struct vault *v = begin(), *wrong;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	test_write(test_path("key2"), "fedcba9876543210fedcba9876543210");
	CHECK_INT(chmod(test_path("key2"), 0600), 0);
	wrong = open_with("cloche",
			  (struct key_source){ .key_file = test_path("key2") });
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "wrong key");
	CHECK_INT(put(wrong, "{}"), -EKEYREJECTED);
	vault_free(wrong);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	vault_free(v);
}

TEST(a_passphrase_works_and_a_wrong_one_does_not)
{
	struct vault *v, *wrong;

	vault_free(begin());
	test_write(test_path("words"), "correct horse\n");
	test_write(test_path("wrong"), "correct  horse\n");
	CHECK_INT(chmod(test_path("words"), 0600), 0);
	v = open_with("cloche",
		      (struct key_source){ .passphrase_file =
						   test_path("words") });
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(notes, 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	wrong = open_with("cloche",
			  (struct key_source){ .passphrase_file =
						       test_path("wrong") });
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "wrong passphrase");
	CHECK_INT(put(wrong, "{}"), -EKEYREJECTED);
	vault_free(wrong);
	/* Without one, it is what is asked for */
	wrong = open_with("cloche", (struct key_source){ 0 });
	CHECK_INT(get(wrong, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--passphrase-file");
	vault_free(wrong);
	/* The first line of a file is the passphrase */
	test_write(test_path("lines"), "correct horse\r\nbattery staple\n");
	wrong = open_with("cloche",
			  (struct key_source){ .passphrase_file =
						       test_path("lines") });
	CHECK_INT(get(wrong, "{\"a\":1}"), 1);
	vault_free(wrong);
	/* A key is no passphrase */
	wrong = begin();
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "with a passphrase");
	vault_free(wrong);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	vault_free(v);
}

TEST(a_key_that_others_can_read_is_mentioned)
{
	struct vault *v = begin();

	CHECK_INT(chmod(test_path("key"), 0644), 0);
	CHECK_INT(put(v, "{}"), 1);
	CHECK(notes & NOTE_LOOSE_KEY);
	vault_free(v);
	CHECK_INT(chmod(test_path("key"), 0666), 0);
	v = begin();
	CHECK_INT(get(v, ""), -EPERM);
	vault_free(v);
}

TEST(bad_keys_are_refused)
{
	struct vault *v;

	vault_free(begin());
	test_write(test_path("short"), "0123456789abcde");
	test_write(test_path("empty"), "\n");
	v = open_with("cloche",
		      (struct key_source){ .key_file = test_path("short") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	CHECK_CONTAINS(err.msg, "too short");
	vault_free(v);
	v = open_with("cloche",
		      (struct key_source){ .passphrase_file =
						   test_path("empty") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	vault_free(v);
	v = open_with("cloche", (struct key_source){
					.passphrase_file = test_path("none") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	CHECK_CONTAINS(err.msg, "No such file");
	vault_free(v);
}

TEST(without_a_key_a_new_store_is_left_to_others_and_an_old_one_is_not)
{
	struct vault *v = begin();
	struct vault *none = open_with("cloche", (struct key_source){ 0 });

	CHECK_INT(get(none, ""), 0);
	CHECK_INT(put(none, "{}"), -ENOTSUP);
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(none, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--key-file");
	CHECK_INT(put(none, "{}"), -ENOKEY);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	vault_free(none);
	vault_free(v);
}

static int never_asked(void *arg, bool fresh, struct bytes *ret,
		       struct err *why)
{
	(void)arg;
	(void)fresh;
	(void)ret;
	return fail(why, -EIO, "somebody was asked");
}

TEST(nobody_is_asked_for_a_passphrase_where_it_takes_a_key)
{
	struct vault *v = begin();
	struct vault *asks = open_with("cloche", (struct key_source){
		.ask = never_asked });

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(asks, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--key-file");
	vault_free(asks);
	vault_free(v);
}

/* Two machines, one file: this one only reads */
TEST(an_older_file_is_noticed_by_who_only_reads)
{
	struct vault *v = begin();
	struct place *elsewhere = place_new(test_path("elsewhere"));
	struct place *here = state;
	struct vault *reader;
	size_t n;
	char *old;

	state = elsewhere;
	reader = begin();
	state = here;
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	old = load(&n);
	CHECK_INT(put(v, "{\"a\":2}"), 1);
	CHECK_INT(get(reader, "{\"a\":2}"), 1);
	CHECK_INT(notes, 0);
	CHECK_INT(place_write(place, "v.enc", old, n, NULL), 0);
	CHECK_INT(get(reader, "{\"a\":1}"), 1);
	CHECK(notes & NOTE_ROLLBACK);
	free(old);
	vault_free(reader);
	vault_free(v);
	place_free(elsewhere);
}

TEST(an_older_file_is_noticed)
{
	struct vault *v = begin();
	size_t n;
	char *old;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	old = load(&n);
	CHECK_INT(put(v, "{\"a\":2}"), 1);
	CHECK_INT(get(v, "{\"a\":2}"), 1);
	CHECK_INT(notes, 0);
	CHECK_INT(place_write(place, "v.enc", old, n, NULL), 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	CHECK_INT(notes, NOTE_ROLLBACK);
	/* Writing goes on from the highest that was seen */
	CHECK_INT(put(v, "{\"a\":3}"), 1);
	CHECK_INT(get(v, "{\"a\":3}"), 1);
	CHECK_INT(notes, 0);
	free(old);
	vault_free(v);
}

TEST(a_header_cannot_ask_for_a_ruinous_scrypt)
{
	static const unsigned char costs[] = { 0, 13, 21, 63, 255 };
	struct vault *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{}"), 1);
	file = load(&n);
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		file[10] = (char)costs[i];
		CHECK_INT(place_write(place, "v.enc", file, n, NULL), 0);
		CHECK_INT(get(v, ""), -EBADMSG);
		CHECK_CONTAINS(err.msg, "scrypt");
	}
	free(file);
	vault_free(v);
}

TEST(the_limit_of_a_document_holds)
{
	struct vault *v = begin();

	for (int over = 0; over < 2; over++) {
		auto_bytes struct bytes data = { 0 }, back = { 0 };

		bytes_adds(&data, "{\"a\":\"");
		while (data.len < (size_t)(DOC_MAX - 2 + over))
			bytes_addc(&data, 'x');
		bytes_adds(&data, "\"}");
		CHECK_INT(vault_update(v, &data, &notes, &err),
			  over ? -EFBIG : 1);
		CHECK_INT(vault_read(v, &back, &notes, &err), 1);
		CHECK_INT(back.len, DOC_MAX);
	}
	vault_free(v);
}

TEST(the_kernel_keyring_can_hold_the_key)
{
	struct vault *v, *missing;
	long id;

	vault_free(begin());
	/* A session keyring of our own, so that nothing stays behind */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		test_skip("no kernel keyrings here");
	id = syscall(SYS_add_key, "user", "cloche-test", KEY_TEXT,
		     sizeof(KEY_TEXT) - 1, KEY_SPEC_SESSION_KEYRING);
	CHECK(id > 0);
	v = open_with("cloche", (struct key_source){ .keyring = "cloche-test" });
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	vault_free(v);
	missing = open_with("cloche", (struct key_source){ .keyring = "other" });
	CHECK_INT(get(missing, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "keyctl padd user other");
	vault_free(missing);
}
