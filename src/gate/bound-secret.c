/* SPDX-License-Identifier: Apache-2.0 */
/* gate/bound-secret.c - which secret stands behind a placeholder, and for which hosts */

#include "gate/bound-secret.h"

#include <errno.h>
#include <resolv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "policy/host.h"

/* Fields whose only purpose is to carry a credential. User-Agent, Referer, Origin,
 * Cookie and the like come back in pages and logs: what is put there is not secret.
 */
static const char *const fields[] = {
	"Authorization", "X-Api-Key", "X-Goog-Api-Key",
	"Private-Token", "Api-Key",   "X-Auth-Token",
};

void bound_secrets_done(struct bound_secrets *secrets)
{
	for (size_t i = 0; i < secrets->len; i++) {
		struct bound_secret *s = &secrets->v[i];

		for (size_t k = 0; k < s->n_hosts; k++) {
			free(s->hosts[k]);
			host_pattern_free(s->patterns[k]);
		}
		free(s->hosts);
		free(s->patterns);
		free(s->name);
		free(s->placeholder);
		free(s->header);
		free(s->method);
		free(s->path);
		free(s->url);
	}
	free(secrets->v);
	*secrets = (struct bound_secrets){ 0 };
}

struct bound_secret *bound_secrets_add_like(struct bound_secrets *secrets,
					    size_t i)
{
	struct bound_secret *s = vec_push(secrets);
	const struct bound_secret *like = &secrets->v[i];

	s->name = mem_strdup(like->name);
	s->optional = like->optional;
	s->masked = like->masked;
	s->hosts = mem_zalloc(like->n_hosts * sizeof(*s->hosts));
	s->patterns = mem_zalloc(like->n_hosts * sizeof(*s->patterns));
	for (size_t k = 0; k < like->n_hosts; k++) {
		s->patterns[k] = host_pattern_new(like->hosts[k], false, NULL);
		if (!s->patterns[k])
			break;
		s->hosts[s->n_hosts++] = mem_strdup(like->hosts[k]);
	}
	return s;
}

bool bound_secret_covers(const struct bound_secret *secret,
			 const struct host *host)
{
	for (size_t i = 0; i < secret->n_hosts; i++) {
		if (host_pattern_match(secret->patterns[i], host))
			return true;
	}
	return false;
}

bool bound_secrets_cover(const struct bound_secrets *secrets,
			 const struct host *host)
{
	for (size_t i = 0; host->kind == HOST_NAME && i < secrets->len; i++) {
		if (bound_secret_covers(&secrets->v[i], host))
			return true;
	}
	return false;
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ssize_t base64_decode(const char *text, size_t n, char *ret, size_t max)
{
	uint32_t bits = 0;
	size_t out = 0, have = 0;

	for (int padding = 0; n && text[n - 1] == '=' && padding < 2; padding++)
		n--;
	for (size_t i = 0; i < n; i++) {
		const int v = base64_value(text[i]);

		if (v < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (out == max)
			return -EBADMSG;
		ret[out++] = (char)(bits >> have);
	}
	/* Left-over bits must be 0, or two texts would mean the same */
	return have == 6 || bits & ((1U << have) - 1) ? -EBADMSG : (ssize_t)out;
}

size_t base64_encode(const void *bytes, size_t n, char *ret)
{
	const int len = b64_ntop(bytes, n, ret, BASE64_SIZE(n));

	if (len < 0)
		abort();	/* The size is right */
	return (size_t)len;
}

const struct bound_secret *
bound_secrets_find(const struct bound_secrets *secrets, const char *p, size_t n)
{
	for (size_t i = 0; i < secrets->len; i++) {
		const char *placeholder = secrets->v[i].placeholder;

		if (placeholder && strlen(placeholder) == n &&
		    !memcmp(placeholder, p, n))
			return &secrets->v[i];
	}
	return NULL;
}

static bool find_basic(const struct bound_secrets *secrets,
		       struct http_span text, struct credential_use *ret)
{
	char plain[BOUND_BASIC_MAX];
	const ssize_t n = base64_decode(text.p, text.n, plain, sizeof(plain));
	const char *colon = n < 0 ? NULL : memchr(plain, ':', (size_t)n);
	size_t user;

	if (!colon)
		return false;
	user = (size_t)(colon - plain);
	*ret = (struct credential_use){
		.secret = bound_secrets_find(secrets, colon + 1,
					     (size_t)n - user - 1),
		.user = bound_secrets_find(secrets, plain, user),
		.form = CREDENTIAL_BASIC_PASSWORD,
		.at = text,
	};
	if (!ret->secret) {
		ret->secret = ret->user;
		ret->user = NULL;
		ret->form = CREDENTIAL_BASIC_USER;
	}
	return ret->secret;
}

static bool is_field(const struct bound_secrets *secrets, struct http_span name,
		     const struct bound_secret *found)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (http_span_is(name, fields[i]))
			return true;
	}
	for (size_t i = 0; i < secrets->len; i++) {
		const struct bound_secret *s = &secrets->v[i];

		if (s->header && (!found || found == s) &&
		    http_span_is(name, s->header))
			return true;
	}
	return false;
}

bool credential_find(const struct bound_secrets *secrets,
		     const struct http_header *header,
		     struct credential_use *ret)
{
	const struct http_span value = header->value;
	const char *blank = memchr(value.p, ' ', value.n);
	struct http_span rest = value;

	if (!is_field(secrets, header->name, NULL))
		return false;
	*ret = (struct credential_use){
		.secret = bound_secrets_find(secrets, value.p, value.n),
		.form = CREDENTIAL_WHOLE,
		.at = value,
	};
	if (!ret->secret && blank) {
		while (blank < value.p + value.n && *blank == ' ')
			blank++;
		rest = (struct http_span){
			blank,
			(size_t)(value.p + value.n - blank),
		};
		*ret = (struct credential_use){
			.secret = bound_secrets_find(secrets, rest.p, rest.n),
			.form = CREDENTIAL_SCHEME,
			.at = rest,
		};
	}
	if (!ret->secret && value.n > 6 && !strncasecmp(value.p, "Basic ", 6))
		(void)find_basic(secrets, rest, ret);
	return ret->secret && is_field(secrets, header->name, ret->secret) &&
	       (!ret->user || is_field(secrets, header->name, ret->user));
}

/* True if @target is at or below @path for every server: one that resolves dots,
 * escapes, doubled or reversed slashes reads the same path
 */
static bool is_below(struct http_span target, const char *path)
{
	const size_t n = strlen(path);
	const char *query = memchr(target.p, '?', target.n);
	const size_t end = query ? (size_t)(query - target.p) : target.n;

	for (size_t i = 0; i < end; i++) {
		const char c = target.p[i];

		if (c == '%' || c == '\\' || c == ';' ||
		    (c == '/' && i + 1 < end &&
		     (target.p[i + 1] == '/' || target.p[i + 1] == '.')))
			return false;
	}
	return end >= n && !memcmp(target.p, path, n) &&
	       (end == n || !n || path[n - 1] == '/' || target.p[n] == '/');
}

bool bound_secret_allows(const struct bound_secret *s,
			 const struct http_request *request,
			 const struct host *host)
{
	return bound_secret_covers(s, host) &&
	       (!s->method || http_span_is(request->method, s->method)) &&
	       (!s->path || is_below(request->target, s->path));
}

const struct bound_secret *
credential_misplaced(const struct credential_use *use,
		     const struct http_request *request,
		     const struct host *host)
{
	if (!bound_secret_allows(use->secret, request, host))
		return use->secret;
	return use->user && !bound_secret_allows(use->user, request, host)
		       ? use->user
		       : NULL;
}
