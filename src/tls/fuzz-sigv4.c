/* SPDX-License-Identifier: Apache-2.0 */
/* tls/fuzz-sigv4.c - a signature is found inside its head, and depends on the key */

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "policy/host.h"
#include "tls/sigv4.h"

static void want_within(struct http_span span, const char *p, size_t n)
{
	fuzz_want(!span.p || (span.p >= p && span.p + span.n <= p + n));
}

static void sign(const struct http_request *request, const struct sigv4 *s)
{
	static const char digest[] =
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	const struct sigv4_key one = { .key = { "key-1", 5 } };
	const struct sigv4_key two = { .key = { "key-2", 5 } };

	for (enum sigv4_path path = SIGV4_PATH_ENCODED; path <= SIGV4_PATH_RAW;
	     path++) {
		char a[SIGV4_HEX], b[SIGV4_HEX], c[SIGV4_HEX];
		const bool ok = sigv4_sign(request, s, &one, path, digest, a);

		fuzz_want(ok == sigv4_sign(request, s, &one, path, digest, b) &&
			  ok == sigv4_sign(request, s, &two, path, digest, c));
		fuzz_want(!ok || (!memcmp(a, b, SIGV4_HEX) &&
				  memcmp(a, c, SIGV4_HEX)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request request;
	/* Of its own size, so that a read behind it is found */
	auto_free char *head = mem_strndup((const char *)data, size);
	struct http_scan scan = { 0 };
	auto_bytes struct bytes names = { 0 };
	const char *why = NULL;
	struct host host;
	struct sigv4 s = { 0 };
	ssize_t n;

	fuzz_want(!host_parse("a.test", 6, 443, &host));
	n = http_head_scan(&scan, head, strlen(head));
	if (n <= 0 || http_request_parse(head, (size_t)n, &host, &request, &why))
		return 0;
	sigv4_find(&request, &s);
	want_within(s.id, head, (size_t)n);
	want_within(s.scope, head, (size_t)n);
	want_within(s.names, head, (size_t)n);
	want_within(s.signature, head, (size_t)n);
	want_within(s.date, head, (size_t)n);
	want_within(s.payload, head, (size_t)n);
	want_within(s.token, head, (size_t)n);
	if (s.form != SIGV4_HEADER)
		return 0;
	fuzz_want(s.signature.n == SIGV4_HEX);
	sigv4_add_token_name(s.names, &names);
	fuzz_want(memmem(names.p, names.len, "x-amz-security-token", 20));
	sign(&request, &s);
	return 0;
}
