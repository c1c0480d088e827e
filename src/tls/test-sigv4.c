/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-sigv4.c - signatures of AWS, version 4
 *
 * Keys, dates and signatures are those that AWS has published with its documentation
 * and its test suite.
 */

#include "tls/sigv4.h"

#include <string.h>

#include "test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct http_request request;
static struct sigv4 found;

static const struct sigv4 *find(const char *head)
{
	static const char name[] = "example.amazonaws.com";
	const char *why = NULL, *line = strstr(head, "Host: ");
	struct host host;

	CHECK_INT(host_parse(line ? line + 6 : name,
			     line ? strcspn(line + 6, "\r") : strlen(name), 443,
			     &host),
		  0);
	CHECK_INT(http_request_parse(head, strlen(head), &host, &request, &why),
		  0);
	sigv4_find(&request, &found);
	return &found;
}

static const char *sign(const char *head, const char *key, enum sigv4_path path)
{
	static char made[SIGV4_HEX + 1];
	const struct sigv4_key with = { .key = { key, strlen(key) } };
	char body[SIGV4_HEX];

	CHECK_INT(find(head)->form, SIGV4_HEADER);
	CHECK(sigv4_digest("", 0, body));
	CHECK(!memcmp(body, EMPTY, SIGV4_HEX));
	CHECK(sigv4_sign(&request, &found, &with, path, body, made));
	return made;
}

#define AUTHORIZATION(scope, names) \
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" scope \
	"/aws4_request, SignedHeaders=" names ", Signature=" EMPTY "\r\n"

static const char key[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

TEST(signatures_match_the_published_examples)
{
	CHECK_STR(
		sign("GET /?Action=ListUsers&Version=2010-05-08 HTTP/1.1\r\n"
		     "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
		     "Host: iam.amazonaws.com\r\n"
		     "X-Amz-Date: 20150830T123600Z\r\n" AUTHORIZATION(
			     "20150830/us-east-1/iam",
			     "content-type;host;x-amz-date") "\r\n",
		     key, SIGV4_PATH_ENCODED),
		"5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
	CHECK_STR(
		sign("GET / HTTP/1.1\r\nHost: example.amazonaws.com\r\n"
		     "X-Amz-Date: 20150830T123600Z\r\n" AUTHORIZATION(
			     "20150830/us-east-1/service",
			     "host;x-amz-date") "\r\n",
		     key, SIGV4_PATH_ENCODED),
		"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
	CHECK_STR(
		sign("GET /?Param2=value2&Param1=value1 HTTP/1.1\r\n"
		     "Host: example.amazonaws.com\r\n"
		     "X-Amz-Date: 20150830T123600Z\r\n" AUTHORIZATION(
			     "20150830/us-east-1/service",
			     "host;x-amz-date") "\r\n",
		     key, SIGV4_PATH_ENCODED),
		"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
	CHECK_STR(
		sign("GET /test.txt HTTP/1.1\r\n"
		     "Host: examplebucket.s3.amazonaws.com\r\n"
		     "Range: bytes=0-9\r\nX-Amz-Content-Sha256: " EMPTY "\r\n"
		     "X-Amz-Date: 20130524T000000Z\r\n" AUTHORIZATION(
			     "20130524/us-east-1/s3",
			     "host;range;x-amz-content-sha256;x-amz-date") "\r\n",
		     "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		     SIGV4_PATH_RAW),
		"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

#define GET(target, more) \
	"GET " target " HTTP/1.1\r\nHost: example.amazonaws.com\r\n" \
	"X-Amz-Date: 20150830T123600Z\r\n" more "\r\n"
#define PLAIN AUTHORIZATION("20150830/us-east-1/service", "host;x-amz-date")

/* Equal requests have equal signatures */
TEST(paths_and_queries_are_canonicalised_as_aws_does)
{
	static const struct {
		const char *one, *two;
	} same[] = {
		{ GET("/a/./b/../c//d/", PLAIN), GET("/a/c/d/", PLAIN) },
		{ GET("/../..", PLAIN), GET("/", PLAIN) },
		{ GET("/?b=1&a=2&a=1", PLAIN), GET("/?a=1&a=2&b=1", PLAIN) },
		{ GET("/?a=%7e%2F&b", PLAIN), GET("/?a=~/&b=", PLAIN) },
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		char one[SIGV4_HEX + 1];

		memcpy(one, sign(same[i].one, key, SIGV4_PATH_ENCODED),
		       sizeof(one));
		CHECK_STR(one, sign(same[i].two, key, SIGV4_PATH_ENCODED));
		CHECK(strcmp(one, sign(same[i].two, "another",
				       SIGV4_PATH_ENCODED)) != 0);
	}
}

TEST(forms_of_signed_requests_are_distinguished)
{
	CHECK_INT(find(GET("/", ""))->form, SIGV4_NONE);
	CHECK_INT(find(GET("/", "Authorization: Bearer x\r\n"))->form,
		  SIGV4_NONE);
	CHECK_INT(find(GET("/", PLAIN))->form, SIGV4_HEADER);
	CHECK_INT(find(GET("/", PLAIN "X-Amz-Content-Sha256: "
				      "STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"))
			  ->form,
		  SIGV4_STREAMING);
	CHECK_INT(find(GET("/", PLAIN "X-Amz-Content-Sha256: "
				      "STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n"))
			  ->form,
		  SIGV4_HEADER);
	CHECK_INT(find(GET("/", "Authorization: AWS4-ECDSA-P256-SHA256 "
				"Credential=AKID/20150830/s3/aws4_request, "
				"SignedHeaders=host, Signature=00\r\n"))
			  ->form,
		  SIGV4_ASYMMETRIC);
	CHECK_INT(
		find(GET("/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
			 "AKID%2F20150830&X-Amz-Signature=00",
			 ""))
			->form,
		SIGV4_PRESIGNED);
	CHECK(!strncmp(found.id.p, "AKID%", 5) && found.id.n == 4);
	CHECK_INT(find(GET("/",
			   "Authorization: AWS4-HMAC-SHA256 "
			   "Credential=AKID/20150830/r/s/aws4_request\r\n"))
			  ->form,
		  SIGV4_MALFORMED);
}

TEST(the_token_header_is_inserted_in_sorted_order)
{
	static const struct {
		const char *names, *with;
	} v[] = {
		{ "host", "host;x-amz-security-token" },
		{ "host;x-amz-date", "host;x-amz-date;x-amz-security-token" },
		{ "host;x-amz-date;x-amz-target",
		  "host;x-amz-date;x-amz-security-token;x-amz-target" },
		{ "host;x-amz-security-token;x-z",
		  "host;x-amz-security-token;x-z" },
		{ "host;x-amz-security-token-2",
		  "host;x-amz-security-token;x-amz-security-token-2" },
		{ "x-amz", "x-amz;x-amz-security-token" },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		auto_bytes struct bytes out = { 0 };

		sigv4_add_token_name(
			(struct http_span){ v[i].names, strlen(v[i].names) },
			&out);
		CHECK_STR(out.p, v[i].with);
	}
}

TEST(a_missing_signed_header_fails)
{
	const struct sigv4_key with = { .key = { key, strlen(key) } };
	char made[SIGV4_HEX];

	find(GET("/", AUTHORIZATION("20150830/us-east-1/service",
				    "host;x-missing")));
	CHECK(!sigv4_sign(&request, &found, &with, SIGV4_PATH_ENCODED, EMPTY,
			  made));
}
