/* SPDX-License-Identifier: Apache-2.0 */
/* tls/rewrite.c - the head of a request with real credentials in it */

#include "tls/rewrite.h"

#include <errno.h>
#include <string.h>

#include "policy/host.h"

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

int rewrite_head(const char *p, size_t n, const struct host *host,
		 const struct bound_secrets *secrets,
		 const struct secret_values *values, struct rewrite *ret,
		 struct bytes *out)
{
	struct credential_use uses[REWRITE_USES_MAX + 1];
	const char *from = p;
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
	if (r < 0)
		return (int)r;
	for (ssize_t i = 0; i < r; i++) {
		bytes_add(out, from, (size_t)(uses[i].at.p - from));
		put_value(&uses[i], secrets, values, out);
		from = uses[i].at.p + uses[i].at.n;
	}
	bytes_add(out, from, (size_t)(p + n - from));
	return 0;
}
