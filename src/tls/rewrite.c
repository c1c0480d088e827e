/* SPDX-License-Identifier: Apache-2.0 */
/* tls/rewrite.c - the head of a request with real credentials in it */

#include "tls/rewrite.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/host.h"
#include "tls/sigv4.h"

static const char too_many[] = "too many credentials in one request";
static const char not_bound[] =
	"the placeholder of a secret that is not bound to this host";

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

static int refuse_head(struct rewrite *ret, int error, const char *why)
{
	ret->why = why;
	return error;
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
		if (ret->n_used + (use->user ? 2 : 1) > REWRITE_USES_MAX)
			return refuse_head(ret, -E2BIG, too_many);
		ret->misplaced = credential_misplaced(use, q, host);
		if (ret->misplaced)
			return refuse_head(ret, -EACCES, not_bound);
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
	/* A request of HTTP/2 is decided about before its body is here */
	if (!ret->waits && (n > ret->n_body || q->framing == HTTP_BODY_CHUNKED)) {
		ret->fix = "let the program send X-Amz-Content-Sha256, as for S3, or speak HTTP/1.1";
		return refuse_head(ret, -EPERM,
			"AWS: a signed body over HTTP/2 needs its digest in X-Amz-Content-Sha256");
	}
	if (q->framing == HTTP_BODY_CHUNKED || n > REWRITE_BODY_MAX) {
		ret->fix = "let the program send X-Amz-Content-Sha256, as for S3, or less at a time";
		return refuse_head(ret, -EPERM,
			"a request for AWS whose body is signed must have a length of up to 8 MiB");
	}
	ret->needs = n;
	if (n > ret->n_body)
		return -EAGAIN;
	return sigv4_digest(ret->body, n, body)
		       ? 0
		       : refuse_head(ret, -EPERM,
				     "OpenSSL has no SHA-256 here");
}

/* What cannot be signed again, and what the user can do about it */
static const struct {
	const char *why, *fix;
} unsignable[] = {
	[SIGV4_STREAMING] = {
		"AWS: a body with signatures of its own cannot be signed again; upload it with a digest, or unsigned",
		"turn the signatures of chunks off in the program (chunked encoding)",
	},
	[SIGV4_PRESIGNED] = {
		"AWS: a presigned URL that was made with a placeholder cannot be signed again",
		"make the URL outside of the sandbox",
	},
	[SIGV4_ASYMMETRIC] = {
		"AWS: a SigV4a signature cannot be made again; ask one region",
		"name one region instead of an access point for several",
	},
	[SIGV4_MALFORMED] = {
		"AWS: the signature in Authorization is not as AWS has it",
		"let a program sign that AWS would accept",
	},
};

/**
 * struct signing - A signature that is made again
 * @parts:	The secrets: name of the key, key, session token or NULL
 * @made:	The signature
 * @names:	Signed headers, if the session token was not one of them
 * @field:	The header with the session token, if the request has none
 */
struct signing {
	struct sigv4 s;
	const struct bound_secret *parts[3];
	char made[SIGV4_HEX];
	struct bytes names, field;
};

/* Who signed it, and whether that may go to @host: 1, 0 if it is not ours, or a negative
 * errno
 */
static int find_signer(const struct host *host,
		       const struct bound_secrets *secrets, struct rewrite *ret,
		       struct signing *g)
{
	const struct bound_secret *id;

	sigv4_find(&ret->request, &g->s);
	if (g->s.form == SIGV4_NONE || !g->s.id.n)
		return 0;
	id = bound_secrets_find(secrets, g->s.id.p, g->s.id.n);
	if (!id || !id->aws_key)
		return 0;
	g->parts[0] = id;
	g->parts[1] = &secrets->v[id->aws_key - 1];
	g->parts[2] = id->aws_token ? &secrets->v[id->aws_token - 1] : NULL;
	for (size_t i = 0; i < (id->aws_pair ? 1 : 3) && g->parts[i]; i++) {
		if (!bound_secret_allows(g->parts[i], &ret->request, host)) {
			ret->misplaced = g->parts[i];
			return refuse_head(ret, -EACCES, not_bound);
		}
	}
	if (g->s.form == SIGV4_HEADER)
		return 1;
	if (id->aws_passed & 1U << g->s.form)
		return 0;
	ret->fix = unsignable[g->s.form].fix;
	return refuse_head(ret, -EPERM, unsignable[g->s.form].why);
}

/* What is replaced in the head beside the key's name and the signature: temporary keys
 * are nothing without their token, whether the program has sent it or not
 */
static size_t put_token(const struct rewrite *ret, struct signing *g,
			struct http_span token, struct piece *pieces)
{
	const struct http_headers *h = &ret->request.headers;
	const struct http_span names = g->s.names;
	const struct http_header *last = &h->v[h->len - 1];
	size_t n = 0;

	sigv4_add_token_name(names, &g->names);
	g->s.names = span_of(&g->names);
	pieces[n++] = (struct piece){ .at = names, .with = g->s.names };
	if (g->s.token.p) {
		pieces[n++] = (struct piece){ .at = g->s.token, .with = token };
		return n;
	}
	bytes_adds(&g->field, "\r\nX-Amz-Security-Token: ");
	bytes_add(&g->field, token.p, token.n);
	pieces[n++] = (struct piece){
		.at = { last->value.p + last->value.n, 0 },
		.with = span_of(&g->field),
	};
	return n;
}

/* A request that was signed with placeholders of an access key: how many @pieces are
 * replaced, or a negative errno
 */
static int sign_again(const struct host *host,
		      const struct bound_secrets *secrets,
		      const struct secret_values *values, struct rewrite *ret,
		      struct piece *pieces, struct signing *g)
{
	struct sigv4_key key = { 0 };
	char body[SIGV4_HEX];
	enum sigv4_path path;
	int n = 0, r = find_signer(host, secrets, ret, g);

	if (r <= 0)
		return r;
	if (ret->n_used + 3 > REWRITE_USES_MAX)
		return refuse_head(ret, -E2BIG, too_many);
	r = digest_body(ret, &g->s, body);
	if (r < 0)
		return r;
	if (!g->parts[1]->placeholder ||
	    !reads_alike(ret, &g->s, g->parts[1], body, &path)) {
		ret->fix =
			"let the program use both variables of the key, and nothing else, to sign";
		return refuse_head(ret, -EPERM,
			"AWS: the signature is not the one that the placeholder makes, so the request cannot be signed again");
	}
	pieces[n++] = (struct piece){
		.at = g->s.id,
		.with = span_of(value_of(secrets, values, g->parts[0])),
	};
	pieces[n++] = (struct piece){
		.at = g->s.signature,
		.with = { g->made, SIGV4_HEX },
	};
	key.key = span_of(value_of(secrets, values, g->parts[1]));
	if (g->parts[2]) {
		key.token = span_of(value_of(secrets, values, g->parts[2]));
		n += (int)put_token(ret, g, key.token, pieces + n);
	}
	if (!sigv4_sign(&ret->request, &g->s, &key, path, body, g->made))
		return refuse_head(ret, -EACCES,
				   "AWS: the request cannot be signed");
	for (size_t i = 0; i < 3 && g->parts[i]; i++)
		ret->used[ret->n_used++] = g->parts[i];
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
	struct signing signing = { 0 };
	const char *from = p;
	size_t n_pieces = 0;
	ssize_t r;

	ret->why = ret->fix = NULL;
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
		pieces[n_pieces++] = (struct piece){ .at = uses[i].at, .use = &uses[i] };
	if (r >= 0)
		r = sign_again(host, secrets, values, ret, pieces + n_pieces,
			       &signing);
	for (size_t i = 0; r >= 0 && i < ret->n_used; i++) {
		/* Its source has failed since the start */
		if (value_of(secrets, values, ret->used[i])->len)
			continue;
		ret->fix =
			"see why its source gives none: cloche secret get, or the command";
		r = refuse_head(ret, -EPERM,
				"the value of a secret could not be read");
	}
	n_pieces += r > 0 ? (size_t)r : 0;
	qsort(pieces, n_pieces, sizeof(*pieces), compare_pieces);
	for (size_t i = 0; r >= 0 && i < n_pieces; i++) {
		const struct piece *piece = &pieces[i];

		/* A secret's header may be the one that has the token of a signature */
		if (piece->at.p < from)
			continue;
		bytes_add(out, from, (size_t)(piece->at.p - from));
		if (piece->use)
			put_value(piece->use, secrets, values, out);
		else
			bytes_add(out, piece->with.p, piece->with.n);
		from = piece->at.p + piece->at.n;
	}
	if (r >= 0)
		bytes_add(out, from, (size_t)(p + n - from));
	bytes_done(&signing.names);
	bytes_done(&signing.field);
	return r < 0 ? (int)r : 0;
}
