/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public functions, linked as an embedder links them: without the
 * cryptographic library, the encrypted file through its helper program.
 */
#include <cloche-secret.h>
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "test.h"

static cloche_secrets *secrets;
static char key[512];

static void begin(const char *backend, const char *key_file)
{
	const struct cloche_secret_options options = {
		.size = sizeof(options), .backend = backend,
		.key_file = key_file, .programs = PROGRAMS,
		.timeout_ms = 60000,
	};

	test_home();
	CHECK_INT(cloche_secrets_open(&options, &secrets, NULL, 0), 0);
}

static const char *key_file(void)
{
	snprintf(key, sizeof(key), "%s/key", test_dir());
	test_write(key, "0123456789abcdef0123456789abcdef");
	CHECK_INT(chmod(key, 0600), 0);
	return key;
}

static int set(const char *name, const char *value)
{
	return cloche_secret_set_now(secrets, name, value, strlen(value));
}

static void check_value(const char *name, const char *want)
{
	struct cloche_secret_value *value = NULL;

	CHECK_INT(cloche_secret_get_now(secrets, name, &value), 1);
	CHECK_STR(cloche_secret_data(value), want);
	CHECK_INT(cloche_secret_length(value), strlen(want));
	cloche_secret_value_free(value);
}

TEST(values_are_set_read_and_deleted)
{
	struct cloche_secret_value *none = NULL;

	begin(NULL, NULL);
	CHECK_INT(cloche_secret_get_now(secrets, "A", &none), 0);
	CHECK(!none);
	CHECK_INT(set("A", "one"), 1);
	CHECK_INT(cloche_secrets_warnings(secrets), CLOCHE_SECRET_PLAINTEXT);
	check_value("A", "one");
	CHECK_INT(cloche_secrets_warnings(secrets), 0);
	CHECK_INT(cloche_secret_delete_now(secrets, "A"), 1);
	CHECK_INT(cloche_secret_delete_now(secrets, "A"), 0);
	cloche_secrets_free(secrets);
}

TEST(the_encrypted_file_is_behind_its_helper)
{
	auto_free char *path = NULL;

	begin("file", key_file());
	CHECK_INT(set("A", "one"), 1);
	check_value("A", "one");
	path = path_join(test_dir(), ".local/state/cloche/secrets/credentials.enc");
	CHECK_INT(access(path, F_OK), 0);
	cloche_secrets_clear(secrets);
	check_value("A", "one");
	cloche_secrets_free(secrets);
	/* Another process with another key: the helper's words come through */
	test_write(key, "fedcba9876543210fedcba9876543210");
	begin("file", key);
	CHECK_INT(set("A", "two"), -EKEYREJECTED);
	CHECK_CONTAINS(cloche_secrets_message(secrets), "wrong key");
	cloche_secrets_free(secrets);
}

static void count(void *arg, const struct cloche_secret_answer *answer)
{
	*(int *)arg += answer->result == 1 && answer->length == 3;
}

TEST(answers_come_while_somebody_else_s_loop_turns)
{
	struct pollfd ready;
	int good = 0;

	begin("file", key_file());
	CHECK_INT(set("A", "one"), 1);
	cloche_secrets_clear(secrets);
	for (int i = 0; i < 50; i++)
		cloche_secret_get(secrets, "A", count, &good);
	CHECK_INT(good, 0);
	ready = (struct pollfd){ .fd = cloche_secrets_fd(secrets),
				 .events = POLLIN };
	while (good < 50) {
		CHECK(poll(&ready, 1, 60000) == 1);
		CHECK_INT(cloche_secrets_turn(secrets), 0);
	}
	cloche_secrets_free(secrets);
}

TEST(a_prefetched_store_answers_at_once)
{
	int good = 0;

	begin("file", key_file());
	CHECK_INT(set("A", "one"), 1);
	cloche_secrets_clear(secrets);
	cloche_secrets_prefetch(secrets);
	cloche_secret_get(secrets, "A", count, &good);
	CHECK_INT(cloche_secrets_wait(secrets), 0);
	CHECK_INT(good, 1);
	cloche_secret_get(secrets, "A", count, &good);
	CHECK_INT(good, 2);	/* Before anything turned */
	cloche_secrets_free(secrets);
}

static void remember(void *arg, const struct cloche_secret_answer *answer)
{
	*(int *)arg = answer->result;
}

TEST(freeing_answers_what_is_under_way)
{
	int result = 77;

	begin("file", key_file());
	CHECK_INT(set("A", "one"), 1);
	cloche_secrets_clear(secrets);
	cloche_secret_get(secrets, "A", remember, &result);
	CHECK_INT(result, 77);
	cloche_secrets_free(secrets);
	CHECK_INT(result, -ECANCELED);
}

TEST(documents_are_read_replaced_and_deleted)
{
	int result = 77;

	begin("plaintext", NULL);
	cloche_secrets_update(secrets, "{\"a\":{\"b\":[1]}}", 15, remember,
			      &result);
	CHECK_INT(cloche_secrets_wait(secrets), 0);
	CHECK_INT(result, 1);
	check_value("a", "{\"b\":[1]}");
	cloche_secrets_update(secrets, "nonsense", 8, remember, &result);
	CHECK_INT(result, -EBADMSG);
	cloche_secrets_delete(secrets, remember, &result);
	CHECK_INT(result, 1);
	cloche_secrets_read(secrets, remember, &result);
	CHECK_INT(result, 0);
	cloche_secrets_free(secrets);
}

TEST(bad_input_is_refused_with_words)
{
	char why[256];
	cloche_secrets *none = NULL;
	const struct cloche_secret_options options = {
		.size = sizeof(options), .backend = "floppy",
	};
	/* An older program's struct ends before the backend */
	const struct cloche_secret_options old = {
		.size = sizeof(size_t), .backend = "floppy",
	};

	begin("plaintext", NULL);
	CHECK_INT(set("", "v"), -EINVAL);
	CHECK_INT(set("A", "a\nb"), -EINVAL);
	CHECK_CONTAINS(cloche_secrets_message(secrets), "line feed");
	CHECK_INT(cloche_secret_set_now(secrets, "A", "a\0b", 3), -EINVAL);
	CHECK_INT(set("../A", "v"), -EINVAL);
	cloche_secrets_free(secrets);
	CHECK_INT(cloche_secrets_open(&options, &none, why, sizeof(why)),
		  -EINVAL);
	CHECK_CONTAINS(why, "floppy");
	CHECK_INT(cloche_secrets_open(&old, &none, why, sizeof(why)), 0);
	cloche_secrets_free(none);
	cloche_secrets_free(NULL);
}
