/* SPDX-License-Identifier: Apache-2.0 */
/* tls/rewrite.c - the head of a request with real credentials in it */

#include "tls/rewrite.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/host.h"
#include "tls/sigv4.h"

static const struct bytes *value_of(const struct bound_secrets *secrets,
				    const struct secret_values *values,
				    const struct bound_secret *secret)
{
	return &values->v[secret - secrets->v];
}

/* Basic credentials, with @value in the place of the user or of the password, and
 * @user, if it is not NULL, in the place of the user
 */
static void put_basic(const struct credential_use *use,
		      const struct bytes *value, const struct bytes *user,
		      struct bytes *out)
{
	auto_bytes struct bytes plain = { 0 }, encoded = { 0 };
	char old[BOUND_BASIC_MAX];
	const ssize_t n = base64_decode(use->at.p, use->at.n, old, sizeof(old));
	const char *colon = memchr(old, ':', (size_t)n);
	const size_t at = (size_t)(colon - old);

	if (use->form == CREDENTIAL_BASIC_USER) {
		bytes_add(&plain, value->p, value->len);
		bytes_add(&plain, colon, (size_t)n - at);
	} else {
		bytes_add(&plain, user ? user->p : old, user ? user->len : at);
		bytes_add(&plain, ":", 1);
		bytes_add(&plain, value->p, value->len);
	}
	bytes_reserve(&encoded, BASE64_SIZE(plain.len));
	bytes_add(out, encoded.p, base64_encode(plain.p, plain.len, encoded.p));
}

static void put_value(const struct credential_use *use,
		      const struct bound_secrets *secrets,
		      const struct secret_values *values, struct bytes *out)
{
	const struct bytes *value = value_of(secrets, values, use->secret);

	if (use->form == CREDENTIAL_BASIC_USER ||
	    use->form == CREDENTIAL_BASIC_PASSWORD)
		put_basic(use, value,
			  use->user ? value_of(secrets, values, use->user)
				    : NULL,
			  out);
	else
		bytes_add(out, value->p, value->len);
}

/* Which placeholders are in @ret->request, each bound to @host: how many of @uses were
 * filled in, or -errno
 */
static ssize_t find_uses(const struct bound_secrets *secrets,
			 const struct host *host, struct rewrite *ret,
			 struct credential_use *uses)
{
	const struct http_request *q = &ret->request;
	size_t n = 0;

	for (size_t i = 0; i < q->headers.len; i++) {
		struct credential_use *use = &uses[n];

		if (!credential_find(secrets, &q->headers.v[i], use))
			continue;
		if (ret->n_used + (use->user ? 2 : 1) > REWRITE_USES_MAX) {
			ret->why = "too many credentials in one request";
			return -E2BIG;
		}
		ret->misplaced = credential_misplaced(use, q, host);
		if (ret->misplaced) {
			ret->why =
				"the placeholder of a secret that is not bound to this host";
			return -EACCES;
		}
		ret->used[ret->n_used++] = use->secret;
		if (use->user)
			ret->used[ret->n_used++] = use->user;
		n++;
	}
	return (ssize_t)n;
}

/**
 * struct piece - Bytes of the head that are replaced
 * @use:	By a value, as it says; NULL: by @with
 */
struct piece {
	struct http_span at, with;
	const struct credential_use *use;
};

enum { PIECES_MAX = REWRITE_USES_MAX + 4 };

static struct http_span span_of(const struct bytes *b)
{
	return (struct http_span){ b->p, b->len };
}

static int refuse_head(struct rewrite *ret, int error, const char *why)
{
	ret->why = why;
	return error;
}

/* The signature @s as the client made it with placeholders: true if we would make the
 * same, and how the path is read is in *@path
 */
static bool reads_alike(const struct rewrite *ret, const struct sigv4 *s,
			const struct bound_secret *key, const char *body,
			enum sigv4_path *path)
{
	const struct sigv4_key placeholder = {
		.key = { key->placeholder, strlen(key->placeholder) },
	};
	char made[SIGV4_HEX];

	for (*path = SIGV4_PATH_ENCODED; *path <= SIGV4_PATH_RAW; ++*path) {
		if (sigv4_sign(&ret->request, s, &placeholder, *path, body,
			       made) &&
		    !memcmp(made, s->signature.p, SIGV4_HEX))
			return true;
	}
	return false;
}

/* The digest of the body, where the head does not have it: 0, or a negative errno */
static int digest_body(struct rewrite *ret, const struct sigv4 *s,
		       char body[SIGV4_HEX])
{
	const struct http_request *q = &ret->request;
	const uint64_t n = q->framing == HTTP_BODY_LENGTH ? q->length : 0;

	if (s->payload.p)
		return 0;
	if (q->framing == HTTP_BODY_CHUNKED || n > REWRITE_BODY_MAX ||
	    (n > ret->n_body && !ret->waits))
		return refuse_head(
			ret, -EPERM,
			"a request for AWS whose body is signed must have a length of up to 8 MiB");
	ret->needs = n;
	if (n > ret->n_body)
		return -EAGAIN;
	return sigv4_digest(ret->body, n, body)
		       ? 0
		       : refuse_head(ret, -EPERM,
				     "OpenSSL has no SHA-256 here");
}

static const char *const unsignable[] = {
	[SIGV4_STREAMING] =
		"AWS: a body with signatures of its own cannot be signed again; upload it with a digest, or unsigned",
	[SIGV4_PRESIGNED] =
		"AWS: a presigned URL that was made with a placeholder cannot be signed again",
	[SIGV4_ASYMMETRIC] =
		"AWS: a SigV4a signature cannot be made again; ask one region",
	[SIGV4_MALFORMED] =
		"AWS: the signature in Authorization is not as AWS has it",
};

/* A request that was signed with placeholders of an access key: how many @pieces are
 * replaced, or a negative errno
 */
static int sign_again(const struct host *host,
		      const struct bound_secrets *secrets,
		      const struct secret_values *values, struct rewrite *ret,
		      struct piece *pieces, char made[SIGV4_HEX])
{
	struct sigv4 s;
	struct sigv4_key key = { 0 };
	const struct bound_secret *parts[3] = { NULL };
	char body[SIGV4_HEX];
	enum sigv4_path path;
	int n = 0, r;

	sigv4_find(&ret->request, &s);
	if (s.form == SIGV4_NONE || !s.id.n)
		return 0;
	parts[0] = bound_secrets_find(secrets, s.id.p, s.id.n);
	if (!parts[0] || !parts[0]->aws_key)
		return 0;
	parts[1] = &secrets->v[parts[0]->aws_key - 1];
	if (parts[0]->aws_token && s.token.p &&
	    bound_secrets_find(secrets, s.token.p, s.token.n) ==
		    &secrets->v[parts[0]->aws_token - 1])
		parts[2] = &secrets->v[parts[0]->aws_token - 1];
	for (size_t i = 0; i < 3 && parts[i]; i++) {
		if (!bound_secret_allows(parts[i], &ret->request, host)) {
			ret->misplaced = parts[i];
			return refuse_head(
				ret, -EACCES,
				"the placeholder of a secret that is not bound to this host");
		}
	}
	if (s.form != SIGV4_HEADER)
		return refuse_head(ret, -EPERM, unsignable[s.form]);
	if (ret->n_used + 3 > REWRITE_USES_MAX)
		return refuse_head(ret, -E2BIG,
				   "too many credentials in one request");
	r = digest_body(ret, &s, body);
	if (r < 0)
		return r;
	if (!parts[1]->placeholder ||
	    !reads_alike(ret, &s, parts[1], body, &path))
		return refuse_head(
			ret, -EPERM,
			"AWS: the signature is not the one that the placeholder makes, so the request cannot be signed again");
	key.key = span_of(value_of(secrets, values, parts[1]));
	if (parts[2])
		key.token = span_of(value_of(secrets, values, parts[2]));
	if (!sigv4_sign(&ret->request, &s, &key, path, body, made))
		return refuse_head(ret, -EACCES,
				   "AWS: the request cannot be signed");
	pieces[n++] = (struct piece){
		.at = s.id,
		.with = span_of(value_of(secrets, values, parts[0])),
	};
	pieces[n++] = (struct piece){
		.at = s.signature,
		.with = { made, SIGV4_HEX },
	};
	if (parts[2])
		pieces[n++] =
			(struct piece){ .at = s.token, .with = key.token };
	for (size_t i = 0; i < 3 && parts[i]; i++)
		ret->used[ret->n_used++] = parts[i];
	return n;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->at.p < y->at.p ? -1 : x->at.p > y->at.p;
}

int rewrite_head(const char *p, size_t n, const struct host *host,
		 const struct bound_secrets *secrets,
		 const struct secret_values *values, struct rewrite *ret,
		 struct bytes *out)
{
	struct credential_use uses[REWRITE_USES_MAX + 1];
	struct piece pieces[PIECES_MAX];
	char made[SIGV4_HEX];
	const char *from = p;
	size_t n_pieces = 0;
	ssize_t r;

	ret->why = NULL;
	ret->misplaced = NULL;
	ret->n_used = 0;
	r = http_request_parse(p, n, host, &ret->request, &ret->why);
	if (!r && !host_is_same(&ret->request.vhost, host)) {
		ret->why = "Host names another host";
		r = -EACCES;
	}
	if (!r)
		r = find_uses(secrets, host, ret, uses);
	for (ssize_t i = 0; i < r; i++)
		pieces[n_pieces++] =
			(struct piece){ .at = uses[i].at, .use = &uses[i] };
	if (r >= 0)
		r = sign_again(host, secrets, values, ret, pieces + n_pieces,
			       made);
	if (r < 0)
		return (int)r;
	n_pieces += (size_t)r;
	qsort(pieces, n_pieces, sizeof(*pieces), compare_pieces);
	for (size_t i = 0; i < n_pieces; i++) {
		const struct piece *piece = &pieces[i];

		bytes_add(out, from, (size_t)(piece->at.p - from));
		if (piece->use)
			put_value(piece->use, secrets, values, out);
		else
			bytes_add(out, piece->with.p, piece->with.n);
		from = piece->at.p + piece->at.n;
	}
	bytes_add(out, from, (size_t)(p + n - from));
	return 0;
}
