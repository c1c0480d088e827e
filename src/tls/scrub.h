/* SPDX-License-Identifier: Apache-2.0 */
/* tls/scrub.h - replace a secret that a server sends back
 *
 * A second layer only: a value in a response that is compressed or encoded otherwise is not
 * found. A value and its placeholder have one length, so nothing else of a
 * response changes.
 */

#ifndef TLS_SCRUB_H
#define TLS_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "secret/locked-memory.h"

enum {
	SCRUB_FORMS = 4, /* As it is, and base64 at three alignments */
	SCRUB_VALUES_MAX = 8, /* Values replaced in one request */
	SCRUB_SKIP_MAX = 255, /* Bytes */
};

/**
 * struct scrub - A search in one response; zero-initialise it
 * @find, @put:	What is searched for and what takes its place, equally long
 * @held:	Bytes that may be the beginning of one
 * @skip:	By the byte that is @shortest - 1 ahead: how far the next possible match is
 * @hits:	How often something was replaced
 */
struct scrub {
	struct {
		struct bytes find, put;
	} v[SCRUB_VALUES_MAX * SCRUB_FORMS];
	size_t len, hits;
	uint8_t skip[256], shortest;
	struct bytes held;
};

/* Search for @value as well, of @n bytes as @placeholder. The same one again, or one
 * too many, changes nothing.
 */
void scrub_add(struct scrub *scrub, const char *value, const char *placeholder,
	       size_t n);

/* Append to @out what may go on of @held and the @n bytes at @p; all of it if this is
 * the @end of the response. Of two that begin at one byte the longer is replaced, so
 * what comes out does not depend on how the response was cut.
 */
void scrub_step(struct scrub *scrub, const char *p, size_t n, bool end,
		struct buf *out);

void scrub_done(struct scrub *scrub);

#endif /* TLS_SCRUB_H */
