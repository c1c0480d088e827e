/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-rewrite.c - values replace placeholders in credential fields of their hosts */

#include "tls/rewrite.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/host.h"
#include "test.h"
#include "tls/config.h"

static const char one_value[] = "the-real-value-1";
static const char two_value[] = "another-real-one";
static const char one[] = "placeholder-no-1";
static const char two[] = "placeholder-no-2";

static struct bound_secrets *secrets(void)
{
	static const char text[] =
		"{\"project\": \"/p\", \"key\": \""
		"0000000000000000000000000000000000000000000000000000000000000000"
		"\", \"secrets\": ["
		"{\"name\": \"ONE\", \"hosts\": [\"api.example.org\", \"*.wild.example.org\"]},"
		"{\"name\": \"TWO\", \"hosts\": [\"two.example.org\", \"api.example.org\"],"
		" \"header\": \"X-Acme\", \"method\": \"POST\", \"path\": \"/v1\"}]}";
	static struct tls_config config;

	if (!config.secrets.len) {
		struct err err = { 0 };

		CHECK_INT(tls_config_read(text, sizeof(text) - 1, &config,
					  &err),
			  0);
		config.secrets.v[0].placeholder = mem_strdup(one);
		config.secrets.v[1].placeholder = mem_strdup(two);
	}
	return &config.secrets;
}

static struct rewrite result;

/* What comes out for a request with @head to @name; NULL if it is refused */
static const char *rewritten(const char *name, const char *line,
			     const char *head, int *error)
{
	static struct bytes out;
	struct secret_values values = { 0 };
	struct host host;
	auto_free char *text = mem_printf("%s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
					  line, name, head);
	int r;

	bytes_done(&out);
	bytes_adds(&values.v[0], one_value);
	bytes_adds(&values.v[1], two_value);
	CHECK_INT(host_parse(name, strlen(name), 443, &host), 0);
	r = rewrite_head(text, strlen(text), &host, secrets(), &values, &result,
			 &out);
	*error = r;
	return r < 0 ? NULL : bytes_str(&out);
}

#define SENDS(name, line, head, expected) \
	do { \
		int error_; \
		const char *sent_ = rewritten(name, line, head, &error_); \
		auto_free char *all_ = \
			mem_printf("%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", line, \
				   name, expected); \
\
		CHECK(sent_); \
		CHECK_STR(sent_, all_); \
	} while (0)

#define REFUSES(name, line, head, code) \
	do { \
		int error_; \
\
		CHECK(!rewritten(name, line, head, &error_)); \
		CHECK_INT(error_, code); \
	} while (0)

TEST(placeholders_in_credential_fields_are_replaced)
{
	SENDS("api.example.org", "GET /",
	      "Authorization: Bearer placeholder-no-1\r\n",
	      "Authorization: Bearer the-real-value-1\r\n");
	SENDS("api.example.org", "GET /",
	      "authorization: token  placeholder-no-1\r\n",
	      "authorization: token  the-real-value-1\r\n");
	SENDS("api.example.org", "GET /", "X-Api-Key:placeholder-no-1\r\n",
	      "X-Api-Key:the-real-value-1\r\n");
	SENDS("a.wild.example.org", "GET /",
	      "Private-Token: placeholder-no-1\r\n",
	      "Private-Token: the-real-value-1\r\n");
	CHECK_INT(result.n_used, 1);
}

TEST(placeholders_in_basic_credentials_are_replaced)
{
	/* me:placeholder-no-1, placeholder-no-1:x, and neither */
	SENDS("api.example.org", "GET /",
	      "Authorization: Basic bWU6cGxhY2Vob2xkZXItbm8tMQ==\r\n",
	      "Authorization: Basic bWU6dGhlLXJlYWwtdmFsdWUtMQ==\r\n");
	SENDS("api.example.org", "GET /",
	      "Authorization: basic cGxhY2Vob2xkZXItbm8tMTp4\r\n",
	      "Authorization: basic dGhlLXJlYWwtdmFsdWUtMTp4\r\n");
	SENDS("api.example.org", "GET /", "Authorization: Basic bWU6eA==\r\n",
	      "Authorization: Basic bWU6eA==\r\n");
}

TEST(other_fields_are_not_rewritten)
{
	static const char *const names[] = {
		"User-Agent", "Referer",      "Origin",
		"Cookie",     "X-Request-Id", "X-Acme",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		auto_free char *head = mem_printf("%s: %s\r\n", names[i], one);

		SENDS("api.example.org", "GET /?key=placeholder-no-1", head,
		      head);
		CHECK_INT(result.n_used, 0);
	}
	/* Part of a value is not the value */
	SENDS("api.example.org", "GET /", "X-Api-Key: xplaceholder-no-1\r\n",
	      "X-Api-Key: xplaceholder-no-1\r\n");
}

TEST(a_placeholder_for_another_host_is_refused)
{
	REFUSES("two.example.org", "GET /", "X-Api-Key: placeholder-no-1\r\n",
		-EACCES);
	CHECK_STR(result.misplaced->name, "ONE");
	REFUSES("wild.example.org", "GET /", "X-Api-Key: placeholder-no-1\r\n",
		-EACCES);
	REFUSES("two.example.org", "GET /",
		"Authorization: Basic bWU6cGxhY2Vob2xkZXItbm8tMQ==\r\n",
		-EACCES);
}

TEST(method_and_path_limit_a_binding)
{
	static const char head[] = "X-Acme: placeholder-no-2\r\n";

	SENDS("two.example.org", "POST /v1/x?a=../b", head,
	      "X-Acme: another-real-one\r\n");
	SENDS("two.example.org", "POST /v1", head,
	      "X-Acme: another-real-one\r\n");
	REFUSES("two.example.org", "GET /v1/x", head, -EACCES);
	REFUSES("two.example.org", "POST /v11", head, -EACCES);
	REFUSES("two.example.org", "POST /v1/../x", head, -EACCES);
	REFUSES("two.example.org", "POST /v1/%2e%2e/x", head, -EACCES);
	REFUSES("two.example.org", "POST /v1//x", head, -EACCES);
	REFUSES("two.example.org", "POST /v1/..;/x", head, -EACCES);
}

TEST(two_secrets_in_one_head_are_replaced_separately)
{
	SENDS("api.example.org", "POST /v1",
	      "X-Api-Key: placeholder-no-1\r\nX-Acme: placeholder-no-2\r\n",
	      "X-Api-Key: the-real-value-1\r\nX-Acme: another-real-one\r\n");
	CHECK_INT(result.n_used, 2);
	/* X-Acme is the field of the other secret */
	SENDS("api.example.org", "POST /v1", "X-Acme: placeholder-no-1\r\n",
	      "X-Acme: placeholder-no-1\r\n");
}

TEST(two_secrets_in_one_field_are_replaced_separately)
{
	/* placeholder-no-1:placeholder-no-2, and the reverse */
	static const char both[] =
		"Authorization: Basic cGxhY2Vob2xkZXItbm8tMTpwbGFjZWhvbGRlci1uby0y\r\n";

	SENDS("api.example.org", "POST /v1", both,
	      "Authorization: Basic dGhlLXJlYWwtdmFsdWUtMTphbm90aGVyLXJlYWwtb25l\r\n");
	CHECK_INT(result.n_used, 2);
	SENDS("api.example.org", "POST /v1",
	      "Authorization: Basic cGxhY2Vob2xkZXItbm8tMjpwbGFjZWhvbGRlci1uby0x\r\n",
	      "Authorization: Basic YW5vdGhlci1yZWFsLW9uZTp0aGUtcmVhbC12YWx1ZS0x\r\n");
	/* Each has to be bound: ONE is not to this host, TWO not to this path */
	REFUSES("two.example.org", "POST /v1", both, -EACCES);
	CHECK_STR(result.misplaced->name, "ONE");
	REFUSES("api.example.org", "POST /", both, -EACCES);
	CHECK_STR(result.misplaced->name, "TWO");
}

TEST(ambiguous_heads_are_refused)
{
	int error;

	CHECK(!rewritten("api.example.org", "GET /",
			 "Host: two.example.org\r\n", &error));
	CHECK(!rewritten("api.example.org", "POST /",
			 "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
			 &error));
	CHECK(!rewritten("api.example.org", "GET http://two.example.org/", "",
			 &error));
}

TEST(too_many_credentials_are_refused)
{
	auto_buf struct buf head = { 0 };

	for (int i = 0; i < REWRITE_USES_MAX; i++)
		buf_adds(&head, "X-Api-Key: placeholder-no-1\r\n");
	CHECK(rewritten("api.example.org", "GET /", buf_str(&head),
			&(int){ 0 }));
	buf_adds(&head, "X-Api-Key: placeholder-no-1\r\n");
	REFUSES("api.example.org", "GET /", buf_str(&head), -E2BIG);
}
