/* SPDX-License-Identifier: Apache-2.0 */
/* tls/sigv4.h - signatures of AWS, version 4
 *
 * A request that was signed with a placeholder is signed again with the key. Pure. The
 * caller compares the client's signature with the one that the placeholder makes: if they
 * are equal, both sides read the request in the same way.
 */

#ifndef TLS_SIGV4_H
#define TLS_SIGV4_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/proto/http.h"
#include "secret/locked-memory.h"

enum {
	SIGV4_HEX = 64, /* Characters of a digest */
	SIGV4_NAMES_MAX = 64, /* Signed headers */
	SIGV4_PAIRS_MAX = 128, /* Parts of a query */
};

enum sigv4_form {
	SIGV4_NONE, /* Not signed */
	SIGV4_HEADER, /* In Authorization: can be signed again */
	SIGV4_STREAMING, /* The body has signatures as well */
	SIGV4_PRESIGNED, /* In the query */
	SIGV4_ASYMMETRIC, /* SigV4a */
	SIGV4_MALFORMED,
};

/**
 * struct sigv4 - The signature of a request; spans in its head
 * @id:		Of the access key
 * @scope:	"DATE/REGION/SERVICE/aws4_request"
 * @names:	Signed headers, semicolons between them
 * @signature:	SIGV4_HEX characters
 * @date:	Value of X-Amz-Date
 * @payload:	Value of X-Amz-Content-Sha256; p is NULL without it: the body's digest
 *		is signed
 * @token:	Value of X-Amz-Security-Token; p is NULL without it
 */
struct sigv4 {
	enum sigv4_form form;
	struct http_span id, scope, names, signature, date, payload, token;
};

/* How the signature of @request stands in it; of each form but SIGV4_NONE, whose */
void sigv4_find(const struct http_request *request, struct sigv4 *ret);

/* How a path is read; services differ */
enum sigv4_path { SIGV4_PATH_ENCODED, SIGV4_PATH_PLAIN, SIGV4_PATH_RAW };

/**
 * struct sigv4_key - What a request is signed with
 * @token:	The value of X-Amz-Security-Token, if p is not NULL
 */
struct sigv4_key {
	struct http_span key, token;
};

/* Sign @request, whose body has the digest @body (SIGV4_HEX characters) where the head
 * does not say it. False if it cannot be: a signed header is missing, too many of them,
 * or without memory.
 */
bool sigv4_sign(const struct http_request *request, const struct sigv4 *s,
		const struct sigv4_key *key, enum sigv4_path path,
		const char *body, char ret[SIGV4_HEX]);

/* Append @names to @out, with that of the session token among them */
void sigv4_add_token_name(struct http_span names, struct bytes *out);

/* The digest of the @n bytes at @p */
bool sigv4_digest(const void *p, size_t n, char ret[SIGV4_HEX]);

#endif /* TLS_SIGV4_H */
