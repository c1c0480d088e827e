/* SPDX-License-Identifier: Apache-2.0 */
/* tls/fuzz-rewrite.c - only credentials of a head change, and only for their hosts
 *
 * The oracle compares line by line and decodes Basic credentials by a decoder of its
 * own.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "policy/host.h"
#include "tls/config.h"
#include "tls/rewrite.h"

static const char text[] =
	"{\"project\": \"/p\", \"key\": \""
	"0000000000000000000000000000000000000000000000000000000000000000"
	"\", \"secrets\": ["
	"{\"name\": \"ONE\", \"hosts\": [\"a.test\"]},"
	"{\"name\": \"TWO\", \"hosts\": [\"b.test\"]},"
	"{\"name\": \"TRI\", \"hosts\": [\"a.test\"], \"header\": \"X-Acme\","
	" \"method\": \"POST\", \"path\": \"/v1\"}]}";
static const char *const placeholders[] = { "PLACE-01", "PLACE-02",
					    "PLACE-03" };
static const char *const values[] = { "real+v/1", "real+v/2", "real+v/3" };

static bool has(const char *p, size_t n, const char *what)
{
	return memmem(p, n, what, strlen(what)) != NULL;
}

/* Decoded, with bytes that are not base64 left out */
static size_t decode(const char *p, size_t n, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits = 0, have = 0;
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		const char *digit = p[i] ? strchr(digits, p[i]) : NULL;

		if (!digit)
			continue;
		bits = bits << 6 | (unsigned int)(digit - digits);
		have += 6;
		if (have >= 8)
			ret[out++] = (char)(bits >> (have -= 8));
	}
	return out;
}

/* @new is @old with one placeholder's value in its place */
static bool is_replaced(const char *old, size_t n_old, const char *new,
			size_t n_new)
{
	for (size_t i = 0; i < 3; i++) {
		const size_t len = strlen(values[i]);
		const char *at =
			n_old ? memmem(old, n_old, placeholders[i], len) : NULL;

		for (; at; at = memmem(at + 1, n_old - (size_t)(at + 1 - old),
				       placeholders[i], len)) {
			const size_t k = (size_t)(at - old);

			if (n_old == n_new && !memcmp(old, new, k) &&
			    !memcmp(new + k, values[i], len) &&
			    !memcmp(old + k + len, new + k + len,
				    n_old - k - len))
				return i != 1; /* That one is another host's */
		}
	}
	return false;
}

/* The whole of it is a placeholder that became its value, or it is as it was */
static bool is_part(const char *old, size_t n, const char *new)
{
	return !memcmp(old, new, n) ||
	       (n == strlen(values[0]) && is_replaced(old, n, new, n));
}

static bool is_basic_replaced(const char *old, size_t n_old, const char *new,
			      size_t n_new)
{
	char *a = mem_alloc(n_old + 1), *b = mem_alloc(n_new + 1);
	const char *from = memchr(old, ':', n_old);
	const char *blank;
	bool ok = false;

	while (from && ++from < old + n_old &&
	       (*from == ' ' || *from == '\t')) {
	}
	/* "Authorization: Basic BASE64": the name and the scheme stay */
	if (from && !strncasecmp(from, "basic ", 6) && (blank = from + 6) &&
	    n_new >= (size_t)(blank - old) &&
	    !memcmp(old, new, (size_t)(blank - old))) {
		const size_t k = (size_t)(blank - old);
		const size_t n_a = decode(blank, n_old - k, a);
		const size_t n_b = decode(new + k, n_new - k, b);

		const char *colon = n_a ? memchr(a, ':', n_a) : NULL;
		const size_t user = colon ? (size_t)(colon + 1 - a) : 0;

		/* The user, the password or both */
		ok = n_a == n_b && user && is_part(a, user - 1, b) &&
		     is_part(a + user, n_a - user, b + user);
	}
	free(a);
	free(b);
	return ok;
}

static bool is_credential_line(const char *p, size_t n)
{
	static const char *const names[] = {
		"authorization:", "x-api-key:", "x-goog-api-key:",
		"private-token:", "api-key:",	"x-auth-token:",
		"x-acme:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (n >= strlen(names[i]) &&
		    !strncasecmp(p, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

static void compare(const char *p, size_t n, const struct bytes *out,
		    size_t used)
{
	const char *q = out->p, *end = out->p + out->len;
	size_t changed = 0;

	for (const char *next; n; p = next) {
		const char *eol = memmem(p, n, "\r\n", 2);
		const char *eol_q = memmem(q, (size_t)(end - q), "\r\n", 2);
		size_t len, len_q;

		fuzz_want(eol && eol_q);
		next = eol + 2;
		len = (size_t)(eol - p);
		len_q = (size_t)(eol_q - q);
		if (len != len_q || memcmp(p, q, len)) {
			changed++;
			fuzz_want(is_credential_line(p, len));
			fuzz_want(is_replaced(p, len, q, len_q) ||
				  is_basic_replaced(p, len, q, len_q));
		}
		n -= len + 2;
		q = eol_q + 2;
	}
	/* Basic credentials may have two in one line */
	fuzz_want(q == end && changed <= used && used <= 2 * changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tls_config config;
	static struct secret_values real;
	static struct rewrite w;
	auto_bytes struct bytes out = { 0 };
	struct http_scan scan = { 0 };
	const char *p = (const char *)data;
	struct host host;
	ssize_t n;
	int r;

	if (!config.secrets.len) {
		struct err err = { 0 };

		fuzz_want(!tls_config_read(text, sizeof(text) - 1, &config,
					   &err));
		for (size_t i = 0; i < 3; i++) {
			config.secrets.v[i].placeholder =
				mem_strdup(placeholders[i]);
			bytes_adds(&real.v[i], values[i]);
		}
	}
	fuzz_want(!host_parse("a.test", 6, 443, &host));
	n = http_head_scan(&scan, p, size);
	if (n <= 0)
		return 0;
	for (size_t i = 0; i < 3; i++) {
		if (has(p, (size_t)n, values[i]))
			return 0;
	}
	r = rewrite_head(p, (size_t)n, &host, &config.secrets, &real, &w, &out);
	if (r < 0)
		fuzz_want(!out.len);
	else
		compare(p, (size_t)n, &out, w.n_used);
	return 0;
}
