/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-redact.c - a settings file without its secrets */

#include "policy/redact.h"

#include <string.h>

#include "base/buf.h"
#include "test.h"

static const char *redacted(const char *text, struct buf *out)
{
	static const char keys[] = "registry @*:registry index-url extra-index-url";

	out->len = 0;
	return redact_settings(keys, text, strlen(text), out) ? buf_str(out) : NULL;
}

TEST(a_redacted_npmrc_keeps_registries_without_tokens)
{
	auto_buf struct buf out = { 0 };

	CHECK_STR(redacted("registry=https://r.example.org/\n"
			   "//r.example.org/:_authToken=abc\n"
			   "@corp:registry = https://c.example.org/ \n"
			   "_password=abc\nkey=\"-----BEGIN\"\n", &out),
		  "registry=https://r.example.org/\n"
		  "@corp:registry = https://c.example.org/ \n");
	CHECK_STR(redacted("[global]\nindex-url = https://u:p@r.example.org/s\n"
			   "extra-index-url =\n    https://t@a.example.org/s\n"
			   "    https://b.example.org/s\npassword = abc\n"
			   "    abc\n", &out),
		  "[global]\nindex-url = https://r.example.org/s\n"
		  "extra-index-url =\n    https://a.example.org/s\n"
		  "    https://b.example.org/s\n");
}

TEST(lines_that_may_contain_a_secret_are_left_out)
{
	static const char *const bad[] = {
		"", "registry", "_auth=abc\n", "@:registry=https://r.example.org\n",
		"registry=https://r.example.org/?token=abc\n",
		"registry=https://r.example.org/npm_abcdefghijklmnopqrstuvwxyz0123456789\n",
		"xregistry=https://r.example.org\n", "[https://u:p@h]\n",
	};
	auto_buf struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(!redacted(bad[i], &out));
		CHECK(!strstr(buf_str(&out), ":p"));
	}
	CHECK_STR(redacted("registry=https://u:p@a@r.example.org", &out),
		  "registry=https://r.example.org\n");
	CHECK_STR(redacted("registry=https://\n", &out), "registry=https://\n");
}
