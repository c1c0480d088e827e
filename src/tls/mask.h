/* SPDX-License-Identifier: Apache-2.0 */
/* tls/mask.h - a text in which placeholders stand for its secrets
 *
 * What srt's settings call a mask: of a file or a variable, the first group of each
 * match of a pattern is a secret, or each JSON web token, or some of its claims. The
 * rest stays as it is, so that a program can parse the text. Pure.
 */

#ifndef TLS_MASK_H
#define TLS_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

enum {
	MASK_TEXT_MAX = 48 << 10, /* Bytes of a text: it is one message */
	MASK_SPANS_MAX = 256, /* Places in it */
	MASK_CLAIMS_MAX = 16,
	MASK_MATCH_MAX = 1000000, /* Steps of one search: PCRE2's match limit */
	MASK_HEAP_KIB_MAX = 8 << 10,
};

/* What is done with a text in which nothing is found */
enum mask_none {
	MASK_NONE_HIDE, /* It stays hidden */
	MASK_NONE_SHOW, /* It is shown: "warn" */
	MASK_NONE_FAIL, /* Nothing runs: "error" */
};

/**
 * struct mask - What is secret in a text
 * @extract:	A pattern as JavaScript has it, or NULL: each JSON web token with @jwt,
 *		else all of the text
 * @jwt:	Only JSON web tokens are secrets
 * @claims:	Of a token, these claims; none: its signature
 */
struct mask {
	char *extract;
	bool jwt;
	char *claims[MASK_CLAIMS_MAX];
	size_t n_claims;
	enum mask_none none;
};

/* Remember the @n bytes at @value as a secret. Returns what stands for it, as long and
 * owned by the callee, made in the form of @shape, which is as long as well; or NULL
 * with a message.
 */
typedef const char *mask_secret(void *arg, const char *value, const char *shape,
				size_t n, struct err *err);

/* Append @text to @out with placeholders. How many secrets were found (with none, @out
 * is as it was), or a negative errno with a message that quotes nothing of @text.
 */
int mask_text(const struct mask *mask, const char *text, size_t n,
	      mask_secret *secret, void *arg, struct buf *out, struct err *err);

void mask_free(struct mask *mask);

#endif /* TLS_MASK_H */
