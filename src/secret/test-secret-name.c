/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-secret-name.c - valid names and values of secrets */

#include "secret/secret-name.h"

#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sha256.h"
#include "test.h"

static int name(const char *s)
{
	return name_check(s, strlen(s), NULL);
}

static int value(const char *s)
{
	return value_check(s, strlen(s), NULL);
}

TEST(valid_secret_names_are_accepted)
{
	static const char *const good[] = {
		"a", "GITHUB_TOKEN", "https://index.docker.io/v1/", "a b",
		"caf\303\251", "a..b", "...", "..a/b", "a\\b", "\\x9b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK_INT(name(good[i]), 0);
}

TEST(invalid_secret_names_are_refused)
{
	static const char *const bad[] = {
		"", "a\nb", "a\rb", "a\tb", "\x7f", " a", "a ", "..", "../a",
		"a/..", "a/../b", "\xff", "a\xc3",
		"a\xc2\x9b", "a\xe2\x80\xae" "b", "\xef\xbb\xbf" "a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		CHECK_INT(name_check(bad[i], strlen(bad[i]), &err), -EINVAL);
		CHECK(*err.msg && !strchr(err.msg, '\n'));
	}
	CHECK_INT(name_check("a\0b", 3, NULL), -EINVAL);
}

TEST(values_with_line_ends_or_nul_are_refused)
{
	struct err err = { 0 };

	CHECK_INT(value("x"), 0);
	CHECK_INT(value(" tab\tand \303\251 "), 0);
	CHECK_INT(value(""), -EINVAL);
	CHECK_INT(value("a\nb"), -EINVAL);
	CHECK_INT(value("a\r"), -EINVAL);
	CHECK_INT(value("\xfe"), -EINVAL);
	CHECK_INT(value_check("s3cr\0t", 6, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "NUL byte at byte 4");
	CHECK(!strstr(err.msg, "s3cr"));
}

TEST(names_and_values_are_limited_in_size)
{
	static char text[VALUE_MAX_BYTES + 2];

	memset(text, 'a', sizeof(text) - 1);
	CHECK_INT(name_check(text, NAME_MAX_BYTES, NULL), 0);
	CHECK_INT(name_check(text, NAME_MAX_BYTES + 1, NULL), -EINVAL);
	CHECK_INT(value_check(text, VALUE_MAX_BYTES, NULL), 0);
	CHECK_INT(value_check(text, VALUE_MAX_BYTES + 1, NULL), -EFBIG);
}

TEST(service_names_are_limited_to_plain_characters)
{
	CHECK_INT(service_check("cloche", NULL), 0);
	CHECK_INT(service_check("My_app-2.0", NULL), 0);
	CHECK_INT(service_check("", NULL), -EINVAL);
	CHECK_INT(service_check(".x", NULL), -EINVAL);
	CHECK_INT(service_check("a/b", NULL), -EINVAL);
	CHECK_INT(service_check("a\"b", NULL), -EINVAL);
	CHECK_INT(service_check("a b", NULL), -EINVAL);
}

TEST(each_directory_has_its_own_entry_name)
{
	char full[SERVICE_SIZE];

	service_full("cloche", "/home/u/.local/state/cloche/secrets",
		     "/home/u/.local/state/cloche/secrets", full);
	CHECK_STR(full, "cloche");
	/* printf /elsewhere | sha256sum */
	service_full("cloche", "/elsewhere", "/home/u/.local/state/cloche/secrets", full);
	CHECK_STR(full, "cloche-b660bf8d");
}

static const char *sum_of(const char *text, size_t n)
{
	static char hex[2 * SHA256_BYTES + 1];
	unsigned char sum[SHA256_BYTES];

	sha256(text, n, sum);
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return hex;
}

TEST(sha256_gives_the_sums_of_the_standard)
{
	static char a[1000];

	CHECK_STR(sum_of("", 0),
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK_STR(sum_of("abc", 3),
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_STR(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			 56),
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(a, 'a', sizeof(a));
	CHECK_STR(sum_of(a, sizeof(a)),
		  "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}
