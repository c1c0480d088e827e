/* SPDX-License-Identifier: Apache-2.0 */
/* tls/placeholder.c - a random text of the same form as a secret
 *
 * Clients check what they are given: a length, a prefix, characters, three parts
 * with dots between them. Which characters stand where is not copied, for that would
 * tell something about a short value.
 */

#include "tls/placeholder.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

enum {
	BLOCK = 32, /* Bytes of one HMAC-SHA-256 */
	TRIES = 4, /* Other texts, should one be the value itself */
	UUID_LEN = 36,
};

/* Longer ones before those that they begin with */
static const char *const prefixes[] = {
	"github_pat_", "ghp_",		"gho_",		 "ghu_",    "ghs_",
	"ghr_",	       "sk-ant-api03-", "sk-ant-oat01-", "sk-ant-", "sk-proj-",
	"sk-",	       "glpat-",	"gldt-",	 "npm_",    "pypi-",
	"hf_",	       "AKIA",		"ASIA",		 "AIza",    "xoxb-",
	"xoxp-",       "rubygems_",	"dop_v1_",	 "shpat_",  "SG.",
};

/**
 * struct stream - Bytes that only the key, the project and the name decide
 */
struct stream {
	const uint8_t *key;
	const char *project, *name;
	uint32_t count;
	unsigned int at, length;
	uint8_t block[BLOCK];
	bool failed;
};

static uint8_t next_byte(struct stream *s)
{
	if (s->at == s->length) {
		uint8_t text[4] = {
			(uint8_t)(s->count >> 24),
			(uint8_t)(s->count >> 16),
			(uint8_t)(s->count >> 8),
			(uint8_t)s->count,
		};
		uint8_t first[BLOCK], second[BLOCK];

		/* A key for the project, from that one for the name: no text of
		 * one can continue as the other
		 */
		s->failed |= !HMAC(EVP_sha256(), s->key, PLACEHOLDER_KEY,
				   (const uint8_t *)s->project,
				   strlen(s->project), first, NULL) ||
			     !HMAC(EVP_sha256(), first, BLOCK,
				   (const uint8_t *)s->name, strlen(s->name),
				   second, NULL) ||
			     !HMAC(EVP_sha256(), second, BLOCK, text,
				   sizeof(text), s->block, &s->length);
		s->count++;
		s->at = 0;
		/* Nothing random: pick() must not wait for a better byte */
		if (s->failed)
			return 0;
	}
	return s->block[s->at++];
}

static char pick(struct stream *s, const char *alphabet, size_t n)
{
	const unsigned int fair = 256 - 256 % (unsigned int)n;
	unsigned int byte;

	do
		byte = next_byte(s);
	while (byte >= fair);
	return alphabet[byte % n];
}

static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digit[] = "0123456789";
static const char hex_lower[] = "0123456789abcdef";
static const char hex_upper[] = "0123456789ABCDEF";

static bool is_made_of(const char *p, size_t n, const char *alphabet)
{
	for (size_t i = 0; i < n; i++) {
		if (!p[i] || !strchr(alphabet, p[i]))
			return false;
	}
	return true;
}

static bool has_any_of(const char *p, size_t n, const char *alphabet)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] && strchr(alphabet, p[i]))
			return true;
	}
	return false;
}

static bool is_uuid(const char *p, size_t n)
{
	for (size_t i = 0; n == UUID_LEN && i < n; i++) {
		const bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash != (p[i] == '-') ||
		    (!dash && !strchr("0123456789abcdefABCDEF", p[i])))
			return false;
	}
	return n == UUID_LEN;
}

/* The letters and digits that @p is made of, in @ret */
static size_t alphabet_of(const char *p, size_t n, char *ret)
{
	size_t len = 0;

	if (is_made_of(p, n, hex_lower) || is_made_of(p, n, hex_upper)) {
		const char *hex = is_made_of(p, n, hex_lower) ? hex_lower
							      : hex_upper;

		memcpy(ret, hex, sizeof(hex_lower) - 1);
		return sizeof(hex_lower) - 1;
	}
	if (has_any_of(p, n, lower) || !has_any_of(p, n, upper)) {
		memcpy(ret, lower, sizeof(lower) - 1);
		len += sizeof(lower) - 1;
	}
	if (has_any_of(p, n, upper)) {
		memcpy(ret + len, upper, sizeof(upper) - 1);
		len += sizeof(upper) - 1;
	}
	if (has_any_of(p, n, digit)) {
		memcpy(ret + len, digit, sizeof(digit) - 1);
		len += sizeof(digit) - 1;
	}
	return len;
}

/* How many bytes at the beginning of @value are no secret */
static size_t known_prefix(const char *value, size_t n)
{
	const char *dot = memchr(value, '.', n);
	const char *second =
		dot ? memchr(dot + 1, '.', n - (size_t)(dot + 1 - value))
		    : NULL;

	/* {"alg"... and {"typ"..., and claims: a program reads them */
	if (second && n > 3 && !memcmp(value, "eyJ", 3) &&
	    !memchr(second + 1, '.', n - (size_t)(second + 1 - value)) &&
	    n - (size_t)(second + 1 - value) >= PLACEHOLDER_MIN)
		return (size_t)(second + 1 - value);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const size_t len = strlen(prefixes[i]);

		if (n >= len + PLACEHOLDER_MIN &&
		    !memcmp(value, prefixes[i], len))
			return len;
	}
	return 0;
}

static void fill_text(struct stream *s, const char *value, size_t n, char *ret)
{
	const size_t keep = known_prefix(value, n);
	const bool uuid = is_uuid(value, n);
	char alphabet[sizeof(lower) + sizeof(upper) + sizeof(digit)];
	size_t len = alphabet_of(value + keep, n - keep, alphabet);

	if (uuid) {
		memcpy(alphabet, hex_lower, sizeof(hex_lower) - 1);
		len = sizeof(hex_lower) - 1;
	}
	memcpy(ret, value, keep);
	for (size_t i = keep; i < n; i++)
		ret[i] = uuid && value[i] == '-' ? '-' : pick(s, alphabet, len);
	ret[n] = '\0';
}

int placeholder_check(const char *value, size_t n, struct err *err)
{
	if (n < PLACEHOLDER_MIN || n > PLACEHOLDER_MAX)
		return fail(err, -EINVAL,
			    "the value has %zu bytes; it must have %d to %d", n,
			    PLACEHOLDER_MIN, PLACEHOLDER_MAX);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return fail(err, -EINVAL,
				"the value has a control character, which no header may have");
	}
	return 0;
}

bool placeholder_shape(const char *value, size_t n, char *ret)
{
	const bool uuid = is_uuid(value, n);
	const size_t keep = known_prefix(value, n);
	const char *rest = value + keep;
	const size_t len = n - keep;
	char marks[3];
	size_t k = 0;

	/* Claims of a token are not kept */
	if (placeholder_check(value, n, NULL) < 0 || !strncmp(value, "eyJ", 3))
		return false;
	memcpy(ret, value, keep);
	if (uuid || is_made_of(rest, len, hex_lower) ||
	    is_made_of(rest, len, hex_upper)) {
		marks[k++] = '0';
		if (!uuid && !is_made_of(rest, len, digit))
			marks[k++] = is_made_of(rest, len, hex_lower) ? 'a'
								      : 'A';
	} else {
		if (has_any_of(rest, len, lower) || !has_any_of(rest, len, upper))
			marks[k++] = 'z';
		if (has_any_of(rest, len, upper))
			marks[k++] = 'Z';
		if (has_any_of(rest, len, digit))
			marks[k++] = '0';
	}
	for (size_t i = 0; i < len; i++)
		ret[keep + i] = uuid && rest[i] == '-' ? '-' : marks[i % k];
	ret[n] = '\0';
	return true;
}

int placeholder_make(const uint8_t key[PLACEHOLDER_KEY], const char *project,
		     const char *name, const char *value, size_t n, char *ret,
		     struct err *err)
{
	struct stream s = { .key = key, .project = project, .name = name };
	const int r = placeholder_check(value, n, err);

	if (r < 0)
		return r;
	for (int i = 0; i < TRIES; i++) {
		fill_text(&s, value, n, ret);
		if (s.failed)
			return fail(err, -EIO,
				    "OpenSSL has no HMAC-SHA-256 here");
		if (memcmp(ret, value, n) != 0)
			return 0;
	}
	return fail(err, -EINVAL,
		"no placeholder differs from the value; use a longer or less regular secret");
}
