/* SPDX-License-Identifier: Apache-2.0 */
/* tls/sigv4.c - signatures of AWS, version 4 */

#include "tls/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "secret/locked-memory.h"

enum { DIGEST = 32 }; /* Bytes of SHA-256 */

static const char algorithm[] = "AWS4-HMAC-SHA256";
static const char asymmetric[] = "AWS4-ECDSA-P256-SHA256";
static const char token_name[] = "x-amz-security-token";
/* The signature says that the body is in chunks, and does not cover them */
static const char unsigned_chunks[] = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

static bool begins(struct http_span span, const char *text)
{
	const size_t n = strlen(text);

	return span.n >= n && !memcmp(span.p, text, n);
}

/* What follows @name up to one of @ends */
static struct http_span part_of(struct http_span from, const char *name,
				const char *ends)
{
	const char *p = memmem(from.p, from.n, name, strlen(name));
	const char *end = from.p + from.n;
	struct http_span ret = { NULL, 0 };

	if (!p)
		return ret;
	ret.p = p + strlen(name);
	while (ret.p + ret.n < end && !strchr(ends, ret.p[ret.n]))
		ret.n++;
	return ret;
}

/* The next part of *@text up to @separator, which *@text moves past; p is NULL at the end */
static struct http_span next_part(struct http_span *text, char separator)
{
	const char *end = text->n ? memchr(text->p, separator, text->n) : NULL;
	struct http_span part = { text->n ? text->p : NULL,
				  end ? (size_t)(end - text->p) : text->n };

	if (end)
		*text = (struct http_span){ end + 1, text->n - part.n - 1 };
	else
		text->n = 0;
	return part;
}

static void add_span(struct bytes *out, struct http_span span, const char *end)
{
	bytes_add(out, span.p, span.n);
	bytes_adds(out, end);
}

static bool is_hex(struct http_span span)
{
	for (size_t i = 0; i < span.n; i++) {
		if (text_hex_digit(span.p[i]) < 0)
			return false;
	}
	return span.n == SIGV4_HEX;
}

/* "ID/DATE/REGION/SERVICE/aws4_request" into @ret */
static bool split_credential(struct http_span credential, struct sigv4 *ret)
{
	static const char end[] = "/aws4_request";
	const char *slash = credential.p ? memchr(credential.p, '/', credential.n) : NULL;
	size_t slashes = 0;

	if (!slash)
		return false;
	ret->id = (struct http_span){ credential.p,
				      (size_t)(slash - credential.p) };
	ret->scope = (struct http_span){ slash + 1, credential.n - ret->id.n - 1 };
	for (size_t i = 0; i < ret->scope.n; i++)
		slashes += ret->scope.p[i] == '/';
	return ret->id.n && slashes == 3 && ret->scope.n > strlen(end) &&
	       !memcmp(ret->scope.p + ret->scope.n - strlen(end), end,
		       strlen(end));
}

/* In the query, where the slash of a credential may be escaped */
static void find_presigned(const struct http_request *request,
			   struct sigv4 *ret)
{
	struct http_span id = part_of(request->target, "X-Amz-Credential=", "&/%");

	if (!id.p || !part_of(request->target, "X-Amz-Signature=", "&").p)
		return;
	ret->form = SIGV4_PRESIGNED;
	ret->id = id;
}

void sigv4_find(const struct http_request *request, struct sigv4 *ret)
{
	const struct http_headers *h = &request->headers;
	const struct http_span value = http_header_find(h, "Authorization");
	const bool other = value.p && begins(value, asymmetric);
	bool ok;

	*ret = (struct sigv4){ .form = SIGV4_NONE };
	if (!value.p || (!other && !begins(value, algorithm))) {
		find_presigned(request, ret);
		return;
	}
	ok = split_credential(part_of(value, "Credential=", ", \t"), ret);
	ret->names = part_of(value, "SignedHeaders=", ", \t");
	ret->signature = part_of(value, "Signature=", ", \t");
	ret->date = http_header_find(h, "X-Amz-Date");
	ret->payload = http_header_find(h, "X-Amz-Content-Sha256");
	ret->token = http_header_find(h, "X-Amz-Security-Token");
	if (other)
		ret->form = SIGV4_ASYMMETRIC;
	else if (ret->payload.p && begins(ret->payload, "STREAMING-") &&
		 !http_span_is(ret->payload, unsigned_chunks))
		ret->form = SIGV4_STREAMING;
	else if (ok && ret->names.n && ret->date.n && is_hex(ret->signature))
		ret->form = SIGV4_HEADER;
	else
		ret->form = SIGV4_MALFORMED;
}

static void add_encoded(struct bytes *out, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char text[] = { '%', digits[c >> 4], digits[c & 15] };

	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c && strchr("-_.~", c)))
		bytes_add(out, &c, 1);
	else
		bytes_add(out, text, sizeof(text));
}

/* Without dots and empty segments, as AWS has it for all services but S3 */
static void add_normal(struct http_span path, struct bytes *out)
{
	const bool slash = path.p[path.n - 1] == '/';
	struct http_span part;

	bytes_add(out, "/", 1);
	while ((part = next_part(&path, '/')).p) {
		if (!part.n || http_span_is(part, "."))
			continue;
		if (http_span_is(part, "..")) {
			if (out->len > 1)
				out->len--;
			while (out->len > 1 && out->p[out->len - 1] != '/')
				out->len--;
			continue;
		}
		add_span(out, part, "/");
	}
	if (!slash && out->len > 1)
		out->len--;
}

static void add_path(struct http_span path, enum sigv4_path how,
		     struct bytes *out)
{
	auto_bytes struct bytes normal = { 0 };

	if (!path.n)
		path = (struct http_span){ "/", 1 };
	if (how == SIGV4_PATH_RAW) {
		bytes_add(out, path.p, path.n);
		return;
	}
	if (how == SIGV4_PATH_ENCODED)
		add_normal(path, &normal);
	else
		bytes_add(&normal, path.p, path.n);
	for (size_t i = 0; i < normal.len; i++) {
		if (normal.p[i] == '/')
			bytes_add(out, "/", 1);
		else
			add_encoded(out, (unsigned char)normal.p[i]);
	}
}

/* Decoded, and encoded as AWS does it */
static void add_again(struct http_span text, struct bytes *out)
{
	for (size_t i = 0; i < text.n; i++) {
		const bool escape = text.p[i] == '%' && i + 2 < text.n;
		const int high = escape ? text_hex_digit(text.p[i + 1]) : -1;
		const int low = escape ? text_hex_digit(text.p[i + 2]) : -1;

		if (high >= 0 && low >= 0) {
			add_encoded(out, (unsigned char)(high << 4 | low));
			i += 2;
		} else {
			add_encoded(out, (unsigned char)text.p[i]);
		}
	}
}

struct pair {
	struct bytes name, value;
};

static int compare_bytes(const struct bytes *a, const struct bytes *b)
{
	const size_t n = a->len < b->len ? a->len : b->len;
	const int r = n ? memcmp(a->p, b->p, n) : 0;

	return r ? r : (a->len > b->len) - (a->len < b->len);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	const int r = compare_bytes(&x->name, &y->name);

	return r ? r : compare_bytes(&x->value, &y->value);
}

static bool add_query(struct http_span query, struct bytes *out)
{
	struct pair pairs[SIGV4_PAIRS_MAX] = { 0 };
	struct http_span part;
	size_t n = 0;

	while (n < SIGV4_PAIRS_MAX && (part = next_part(&query, '&')).p) {
		if (!part.n)
			continue;
		add_again(next_part(&part, '='), &pairs[n].name);
		add_again(part, &pairs[n++].value);
	}
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < n; i++) {
		if (i)
			bytes_add(out, "&", 1);
		bytes_add(out, pairs[i].name.p, pairs[i].name.len);
		bytes_add(out, "=", 1);
		bytes_add(out, pairs[i].value.p, pairs[i].value.len);
		bytes_done(&pairs[i].name);
		bytes_done(&pairs[i].value);
	}
	return !query.n;
}

/* Blanks in a row are one */
static void add_trimmed(struct http_span value, struct bytes *out)
{
	for (size_t i = 0; i < value.n; i++) {
		const bool blank = value.p[i] == ' ' || value.p[i] == '\t';

		if (!blank)
			bytes_add(out, value.p + i, 1);
		else if (i && value.p[i - 1] != ' ' && value.p[i - 1] != '\t')
			bytes_add(out, " ", 1);
	}
}

/* "name:value" of each header of that name, as one */
static bool add_header(const struct http_request *request,
		       struct http_span token, struct http_span name,
		       struct bytes *out)
{
	size_t found = 0;

	bytes_add(out, name.p, name.n);
	if (token.p && http_span_is(name, token_name)) {
		bytes_add(out, ":", 1);
		add_trimmed(token, out);
		bytes_add(out, "\n", 1);
		return true;
	}
	for (size_t i = 0; i < request->headers.len; i++) {
		const struct http_header *h = &request->headers.v[i];

		if (h->name.n != name.n || strncasecmp(h->name.p, name.p, name.n) != 0)
			continue;
		bytes_add(out, found++ ? "," : ":", 1);
		add_trimmed(h->value, out);
	}
	bytes_add(out, "\n", 1);
	return found;
}

static bool add_headers(const struct http_request *request,
			const struct sigv4 *s, struct http_span token,
			struct bytes *out)
{
	struct http_span names = s->names, name;
	size_t count = 0;

	while ((name = next_part(&names, ';')).p) {
		if (++count > SIGV4_NAMES_MAX ||
		    !add_header(request, token, name, out))
			return false;
	}
	return true;
}

void sigv4_add_token_name(struct http_span names, struct bytes *out)
{
	const size_t len = strlen(token_name);
	bool there = false;
	struct http_span name;

	/* They are in order */
	while ((name = next_part(&names, ';')).p) {
		const int order = memcmp(name.p, token_name, name.n < len ? name.n : len);

		if (!there && (order > 0 || (!order && name.n > len))) {
			bytes_adds(out, token_name);
			bytes_add(out, ";", 1);
			there = true;
		}
		there |= !order && name.n == len;
		add_span(out, name, names.n || !there ? ";" : "");
	}
	if (!there)
		bytes_adds(out, token_name);
}

static void write_hex(const uint8_t *p, char ret[SIGV4_HEX])
{
	char text[SIGV4_HEX + 1];

	text_hex(p, DIGEST, text);
	memcpy(ret, text, SIGV4_HEX);
}

bool sigv4_digest(const void *p, size_t n, char ret[SIGV4_HEX])
{
	uint8_t digest[DIGEST];

	if (!EVP_Digest(p, n, digest, NULL, EVP_sha256(), NULL))
		return false;
	write_hex(digest, ret);
	return true;
}

static bool mac(uint8_t key[DIGEST], const void *p, size_t n)
{
	uint8_t old[DIGEST];
	bool ok;

	memcpy(old, key, DIGEST);
	ok = HMAC(EVP_sha256(), old, DIGEST, p, n, key, NULL);
	explicit_bzero(old, sizeof(old));
	return ok;
}

/* The key of the day, the region and the service signs @text */
static bool sign_text(struct http_span secret, struct http_span scope,
		      const struct bytes *text, char ret[SIGV4_HEX])
{
	auto_bytes struct bytes first = { 0 };
	struct http_span part = next_part(&scope, '/');
	uint8_t key[DIGEST];
	bool ok;

	bytes_adds(&first, "AWS4");
	bytes_add(&first, secret.p, secret.n);
	ok = HMAC(EVP_sha256(), first.p, (int)first.len,
		  (const uint8_t *)part.p, part.n, key, NULL);
	while (ok && (part = next_part(&scope, '/')).p)
		ok = mac(key, part.p, part.n);
	ok = ok && mac(key, text->p, text->len);
	if (ok)
		write_hex(key, ret);
	explicit_bzero(key, sizeof(key));
	return ok;
}

bool sigv4_sign(const struct http_request *request, const struct sigv4 *s,
		const struct sigv4_key *key, enum sigv4_path how,
		const char *body, char ret[SIGV4_HEX])
{
	struct http_span query = request->target;
	const struct http_span path = next_part(&query, '?');
	auto_bytes struct bytes text = { 0 }, signs = { 0 };
	char digest[SIGV4_HEX];

	add_span(&text, request->method, "\n");
	add_path(path, how, &text);
	bytes_add(&text, "\n", 1);
	if (!add_query(query, &text))
		return false;
	bytes_add(&text, "\n", 1);
	if (!add_headers(request, s, key->token, &text))
		return false;
	bytes_add(&text, "\n", 1);
	add_span(&text, s->names, "\n");
	if (s->payload.p)
		bytes_add(&text, s->payload.p, s->payload.n);
	else
		bytes_add(&text, body, SIGV4_HEX);
	if (!sigv4_digest(text.p, text.len, digest))
		return false;
	bytes_adds(&signs, algorithm);
	bytes_add(&signs, "\n", 1);
	add_span(&signs, s->date, "\n");
	add_span(&signs, s->scope, "\n");
	bytes_add(&signs, digest, sizeof(digest));
	return sign_text(key->key, s->scope, &signs, ret);
}
