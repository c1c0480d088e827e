/* SPDX-License-Identifier: Apache-2.0 */
/* gate/bound-secret.h - which secret stands behind a placeholder, and for which hosts
 *
 * The command holds a placeholder. Only cloche-tls holds the value. Both it and the
 * gate look for placeholders with the functions here: the gate in plain HTTP, where
 * one is never replaced, cloche-tls in the requests that it forwards.
 */

#ifndef GATE_BOUND_SECRET_H
#define GATE_BOUND_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/proto/http.h"

struct host;
struct host_pattern;

enum {
	BOUND_SECRETS_MAX =
		24, /* Of one run: a descriptor each in one message */
	BOUND_VALUES_MAX = 96, /* Those, and the parts of masked texts */
	BOUND_HOSTS_MAX = 64, /* Of one secret */
	BOUND_BASIC_MAX = 8 << 10, /* Bytes of decoded Basic credentials */
};

/**
 * struct bound_secret - A secret without its value
 * @name:	What the user calls it
 * @placeholder: What the command sees instead of the value
 * @hosts, @patterns: Where the value may go, as text and compiled; @n_hosts of each
 * @header:	A further request header that may carry it, or NULL
 * @method:	The only method that may carry it, or NULL
 * @optional:	Without a value it has no placeholder either, and is never found
 * @masked:	Of a text that settings mask; @name is that of its file or variable
 * @path:	What the path of a request must begin with, or NULL
 * @url:	The variable that has its local URL (gate/local-url.h), and perhaps a path
 *		for that, or NULL
 * @aws_key, @aws_token: Of an access key of AWS: 1 and the number of its secret key and
 *		of its session token, or 0
 * @aws_pair:	Settings say that these belong together: the hosts of this one count for
 *		all of them
 * @aws_passed:	Bits by enum sigv4_form: requests that go out as they are
 */
struct bound_secret {
	char *name, *placeholder;
	char **hosts;
	struct host_pattern **patterns;
	size_t n_hosts;
	char *header, *method, *path, *url;
	bool optional, masked;
	size_t aws_key, aws_token;
	bool aws_pair;
	unsigned int aws_passed;
};

struct bound_secrets {
	struct bound_secret *v;
	size_t len, cap;
};

void bound_secrets_done(struct bound_secrets *secrets);

/* Append a secret of the same name and hosts as number @i, without a placeholder */
struct bound_secret *bound_secrets_add_like(struct bound_secrets *secrets,
					    size_t i);

/* True if @secret is bound to @host, whatever the request */
bool bound_secret_covers(const struct bound_secret *secret,
			 const struct host *host);

/* True if any secret is bound to @host: TLS to it is opened by cloche-tls */
bool bound_secrets_cover(const struct bound_secrets *secrets,
			 const struct host *host);

/* Where in a header's value a placeholder stands */
enum credential_form {
	CREDENTIAL_WHOLE, /* "X-Api-Key: PLACEHOLDER" */
	CREDENTIAL_SCHEME, /* "Authorization: Bearer PLACEHOLDER" */
	CREDENTIAL_BASIC_USER, /* Before the colon of Basic credentials */
	CREDENTIAL_BASIC_PASSWORD, /* After it */
};

/**
 * struct credential_use - A placeholder in a credential field
 * @secret:	Whose placeholder
 * @user:	Of Basic credentials that have two: whose is before the colon, or NULL
 * @form:	Where it stands
 * @at:		The bytes of the header's value that are to be replaced: the
 *		placeholder itself, or all of the base64 text
 */
struct credential_use {
	const struct bound_secret *secret, *user;
	enum credential_form form;
	struct http_span at;
};

/* True if @header is a field that carries credentials and holds a placeholder of
 * @secrets. A field is one of those that all clients use (Authorization, X-Api-Key,
 * ...) or one that a secret names; that one is searched for that secret only.
 */
bool credential_find(const struct bound_secrets *secrets,
		     const struct http_header *header,
		     struct credential_use *ret);

/* The secret of @use that may not be put into @request to @host, or NULL if @use may be
 * replaced
 */
const struct bound_secret *
credential_misplaced(const struct credential_use *use,
		     const struct http_request *request,
		     const struct host *host);

/* The secret that the @n bytes at @p are the placeholder of, or NULL */
const struct bound_secret *
bound_secrets_find(const struct bound_secrets *secrets, const char *p,
		   size_t n);

/* The same for a secret that stands elsewhere: true if it may be put into @request */
bool bound_secret_allows(const struct bound_secret *secret,
			 const struct http_request *request,
			 const struct host *host);

/* Decode base64 as credentials have it, padded or not: the length, or -EBADMSG if
 * it is not base64 or does not fit
 */
ssize_t base64_decode(const char *text, size_t n, char *ret, size_t max);
/* The length of the encoded text; @ret has space for BASE64_SIZE(n) */
size_t base64_encode(const void *bytes, size_t n, char *ret);

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

#endif /* GATE_BOUND_SECRET_H */
