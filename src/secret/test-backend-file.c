/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-backend-file.c - the encrypted file */

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/private-dir.h"
#include "test.h"

#define KEY_TEXT "0123456789abcdef0123456789abcdef"

enum { HEADER_SIZE = 104 };

static struct private_dir *dir, *seen;
static struct err err;
static unsigned int warnings;

static struct store *open_with(const char *service, struct key_source key)
{
	struct store *s = mem_zalloc(sizeof(*s));

	*s = (struct store){ .dir = dir, .seen = seen, .files = mem_strdup("v"),
			     .service = mem_strdup(service), .key = key };
	return s;
}

static void close_store(struct store *s)
{
	bytes_done(&s->master);
	free(s->files);
	free(s->service);
	free(s);
}

/* A store with a key file; the usual in these tests, because it is quick */
static struct store *begin(void)
{
	static char key[512];

	if (!dir) {
		dir = private_dir_new(test_path("store"));
		seen = private_dir_new(test_path("state"));
		snprintf(key, sizeof(key), "%s", test_path("key"));
		test_write(key, KEY_TEXT);
		CHECK_INT(chmod(key, 0600), 0);
	}
	return open_with("cloche", (struct key_source){ .key_file = key });
}

/* 1 or a negative errno */
static int put(struct store *s, const char *text)
{
	auto_bytes struct bytes data = { 0 };
	int r;

	bytes_adds(&data, text);
	s->warnings = 0;
	err.msg[0] = '\0';
	r = backend_file.write(s, &data, &err);
	warnings = s->warnings;
	return r < 0 ? r : 1;
}

static int get(struct store *s, const char *want)
{
	auto_bytes struct bytes data = { 0 };
	json_auto_t *doc = NULL;
	int r;

	s->warnings = 0;
	err.msg[0] = '\0';
	r = backend_file.read(s, &doc, &err);
	warnings = s->warnings;
	if (doc)
		document_print(doc, &data);
	CHECK_STR(bytes_str(&data), want);
	return r;
}

TEST(a_document_is_read_back)
{
	struct store *v = begin(), *other;

	CHECK_INT(get(v, ""), 0);
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(warnings, 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	close_store(v);
	other = begin();
	CHECK_INT(get(other, "{\"a\":1}"), 1);
	CHECK_INT(backend_file.remove(other, NULL), 1);
	CHECK_INT(backend_file.remove(other, NULL), 0);
	CHECK_INT(get(other, ""), 0);
	close_store(other);
}

static char *load(size_t *n)
{
	auto_bytes struct bytes file = { 0 };
	char *copy;

	CHECK_INT(private_dir_read(dir, "v.enc", 1 << 20, &file, NULL), 1);
	copy = malloc(file.len);
	memcpy(copy, file.p, file.len);
	*n = file.len;
	return copy;
}

TEST(an_encrypted_file_contains_no_plaintext)
{
	struct store *v = begin();
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
	CHECK(memcmp(one + HEADER_SIZE, two + HEADER_SIZE, n - HEADER_SIZE));
	free(one);
	free(two);
	close_store(v);
}

TEST(a_change_of_any_byte_is_detected)
{
	struct store *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	file = load(&n);
	for (size_t i = 0; i < n; i++) {
		file[i] ^= 0x20;
		CHECK_INT(private_dir_write(dir, "v.enc", file, n, NULL), 0);
		CHECK(get(v, "") < 0);
		CHECK(*err.msg);
		CHECK(err.code == -EBADMSG || err.code == -EKEYREJECTED);
		/* And nothing is written over it */
		CHECK(put(v, "{}") < 0);
		file[i] ^= 0x20;
	}
	CHECK_INT(private_dir_write(dir, "v.enc", file, n, NULL), 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	free(file);
	close_store(v);
}

TEST(truncated_and_damaged_files_are_reported)
{
	struct store *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	file = load(&n);
	for (size_t i = 0; i < n; i++) {
		CHECK_INT(private_dir_write(dir, "v.enc", file, i, NULL), 0);
		CHECK_INT(get(v, ""), -EBADMSG);
		CHECK_CONTAINS(err.msg, "store/v.enc: ");
	}
	CHECK_INT(private_dir_write(dir, "v.enc", "{\"plain\":1}", 11, NULL), 0);
	CHECK_INT(get(v, ""), -EBADMSG);
	CHECK_CONTAINS(err.msg, "not an encrypted store");
	free(file);
	close_store(v);
}

TEST(a_file_of_another_service_does_not_open)
{
	struct store *v = begin();
	struct store *other = open_with("other", (struct key_source){
		.key_file = test_path("key") });

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(other, ""), -EBADMSG);
	CHECK_CONTAINS(err.msg, "another service");
	close_store(other);
	close_store(v);
}

TEST(a_wrong_key_is_reported_and_changes_nothing)
{
	struct store *v = begin(), *wrong;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	test_write(test_path("key2"), "fedcba9876543210fedcba9876543210");
	CHECK_INT(chmod(test_path("key2"), 0600), 0);
	wrong = open_with("cloche",
			  (struct key_source){ .key_file = test_path("key2") });
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "wrong key");
	CHECK_INT(put(wrong, "{}"), -EKEYREJECTED);
	close_store(wrong);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	close_store(v);
}

TEST(a_store_opens_with_the_right_passphrase_only)
{
	struct store *v, *wrong;

	close_store(begin());
	test_write(test_path("words"), "correct horse\n");
	test_write(test_path("wrong"), "correct  horse\n");
	CHECK_INT(chmod(test_path("words"), 0600), 0);
	v = open_with("cloche",
		      (struct key_source){ .passphrase_file =
						   test_path("words") });
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(warnings, 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	wrong = open_with("cloche",
			  (struct key_source){ .passphrase_file =
						       test_path("wrong") });
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "wrong passphrase");
	CHECK_INT(put(wrong, "{}"), -EKEYREJECTED);
	close_store(wrong);
	/* Without one, it is what is asked for */
	wrong = open_with("cloche", (struct key_source){ 0 });
	CHECK_INT(get(wrong, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--passphrase-file");
	close_store(wrong);
	/* The first line of a file is the passphrase */
	test_write(test_path("lines"), "correct horse\r\nbattery staple\n");
	wrong = open_with("cloche",
			  (struct key_source){ .passphrase_file =
						       test_path("lines") });
	CHECK_INT(get(wrong, "{\"a\":1}"), 1);
	close_store(wrong);
	/* A key is no passphrase */
	wrong = begin();
	CHECK_INT(get(wrong, ""), -EKEYREJECTED);
	CHECK_CONTAINS(err.msg, "with a passphrase");
	close_store(wrong);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	close_store(v);
}

TEST(a_key_readable_by_others_draws_a_warning)
{
	struct store *v = begin();

	CHECK_INT(chmod(test_path("key"), 0644), 0);
	CHECK_INT(put(v, "{}"), 1);
	CHECK(warnings & WARN_LOOSE_KEY);
	close_store(v);
	CHECK_INT(chmod(test_path("key"), 0666), 0);
	v = begin();
	CHECK_INT(get(v, ""), -EPERM);
	close_store(v);
}

TEST(bad_keys_are_refused)
{
	struct store *v;

	close_store(begin());
	test_write(test_path("short"), "0123456789abcde");
	test_write(test_path("empty"), "\n");
	v = open_with("cloche",
		      (struct key_source){ .key_file = test_path("short") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	CHECK_CONTAINS(err.msg, "too short");
	close_store(v);
	v = open_with("cloche",
		      (struct key_source){ .passphrase_file =
						   test_path("empty") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	close_store(v);
	v = open_with("cloche", (struct key_source){
					.passphrase_file = test_path("none") });
	CHECK_INT(put(v, "{}"), -ENOKEY);
	CHECK_CONTAINS(err.msg, "No such file");
	close_store(v);
}

TEST(without_a_key_a_new_store_is_unsupported_and_an_old_one_fails)
{
	struct store *v = begin();
	struct store *none = open_with("cloche", (struct key_source){ 0 });

	CHECK_INT(get(none, ""), 0);
	CHECK_INT(put(none, "{}"), -ENOTSUP);
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(none, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--key-file");
	CHECK_INT(put(none, "{}"), -ENOKEY);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	close_store(none);
	close_store(v);
}

static int never_asked(bool fresh, struct bytes *ret, struct err *why)
{
	(void)fresh;
	(void)ret;
	return fail(why, -EIO, "somebody was asked");
}

TEST(a_key_is_used_without_a_passphrase_prompt)
{
	struct store *v = begin();
	struct store *asks = open_with("cloche", (struct key_source){
		.ask = never_asked });

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(asks, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "--key-file");
	close_store(asks);
	close_store(v);
}

/* Two machines, one file: this one only reads */
TEST(a_reader_detects_an_older_file)
{
	struct store *v = begin();
	struct private_dir *elsewhere = private_dir_new(test_path("elsewhere"));
	struct private_dir *here = seen;
	struct store *reader;
	size_t n;
	char *old;

	seen = elsewhere;
	reader = begin();
	seen = here;
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	old = load(&n);
	CHECK_INT(put(v, "{\"a\":2}"), 1);
	CHECK_INT(get(reader, "{\"a\":2}"), 1);
	CHECK_INT(warnings, 0);
	CHECK_INT(private_dir_write(dir, "v.enc", old, n, NULL), 0);
	CHECK_INT(get(reader, "{\"a\":1}"), 1);
	CHECK(warnings & WARN_ROLLBACK);
	free(old);
	close_store(reader);
	close_store(v);
	private_dir_free(elsewhere);
}

TEST(a_writer_detects_an_older_file)
{
	struct store *v = begin();
	size_t n;
	char *old;

	CHECK_INT(put(v, "{\"a\":1}"), 1);
	old = load(&n);
	CHECK_INT(put(v, "{\"a\":2}"), 1);
	CHECK_INT(get(v, "{\"a\":2}"), 1);
	CHECK_INT(warnings, 0);
	CHECK_INT(private_dir_write(dir, "v.enc", old, n, NULL), 0);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	CHECK_INT(warnings, WARN_ROLLBACK);
	/* Writing goes on from the highest that was seen */
	CHECK_INT(put(v, "{\"a\":3}"), 1);
	CHECK_INT(get(v, "{\"a\":3}"), 1);
	CHECK_INT(warnings, 0);
	free(old);
	close_store(v);
}

TEST(a_header_with_excessive_scrypt_cost_is_refused)
{
	static const unsigned char costs[] = { 0, 13, 21, 63, 255 };
	struct store *v = begin();
	size_t n;
	char *file;

	CHECK_INT(put(v, "{}"), 1);
	file = load(&n);
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		file[9] = (char)costs[i];
		CHECK_INT(private_dir_write(dir, "v.enc", file, n, NULL), 0);
		CHECK_INT(get(v, ""), -EBADMSG);
		CHECK_CONTAINS(err.msg, "scrypt");
	}
	free(file);
	close_store(v);
}

TEST(a_document_at_the_limit_fits)
{
	struct store *v = begin();
	auto_bytes struct bytes data = { 0 };

	bytes_adds(&data, "{\"a\":\"");
	while (data.len < (size_t)(DOCUMENT_MAX - 2))
		bytes_add(&data, "x", 1);
	bytes_adds(&data, "\"}");
	CHECK_INT(put(v, data.p), 1);
	CHECK_INT(get(v, data.p), 1);
	close_store(v);
}

TEST(the_kernel_keyring_can_hold_the_key)
{
	struct store *v, *missing;
	long id;

	close_store(begin());
	/* A session keyring of our own, so that nothing stays behind */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		test_skip("no kernel keyrings here");
	id = syscall(SYS_add_key, "user", "cloche-test", KEY_TEXT,
		     sizeof(KEY_TEXT) - 1, KEY_SPEC_SESSION_KEYRING);
	CHECK(id > 0);
	v = open_with("cloche", (struct key_source){ .keyring = "cloche-test" });
	CHECK_INT(put(v, "{\"a\":1}"), 1);
	CHECK_INT(get(v, "{\"a\":1}"), 1);
	close_store(v);
	missing = open_with("cloche", (struct key_source){ .keyring = "other" });
	CHECK_INT(get(missing, ""), -ENOKEY);
	CHECK_CONTAINS(err.msg, "keyctl padd user other");
	close_store(missing);
}
