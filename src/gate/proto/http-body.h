/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/http-body.h - where a message body ends, and what of it is forwarded
 *
 * Bytes with a length, and those until the connection closes, pass as they
 * are. Chunks are checked and written anew: canonical sizes, no extensions,
 * no trailers, so that no server reads them in another way.
 */

#ifndef GATE_PROTO_HTTP_BODY_H
#define GATE_PROTO_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate/proto/http.h"

enum {
	HTTP_CHUNK_DIGITS_MAX = 15,	/* So that a size fits in 63 bits */
	HTTP_CHUNK_EXT_MAX = 1 << 10,	/* Bytes of extensions of one chunk */
	HTTP_TRAILER_MAX = 8 << 10,	/* Bytes of all trailers */
	HTTP_CHUNK_LINE_MAX = 20,	/* CRLF, 15 digits, CRLF, and the NUL */
};

/**
 * struct http_body - A body on its way; opaque but for its size
 */
struct http_body {
	enum http_framing framing;
	int state;
	uint64_t left;		/* Bytes that pass as they are */
	unsigned int count;	/* Digits, or bytes of what is dropped */
	char line[HTTP_CHUNK_LINE_MAX];
};

void http_body_init(struct http_body *body, enum http_framing framing,
		    uint64_t length);

/* True when the last byte of the body has been consumed; never for a body
 * that ends with its connection
 */
bool http_body_is_done(const struct http_body *body);

/* True if the body may end where the connection did */
bool http_body_may_end(const struct http_body *body);

/* How many of the @n bytes at @p are the body's, which are passed as they are; or
 * -EBADMSG
 */
ssize_t http_body_span(struct http_body *body, const char *p, size_t n);

/* Take a step with the @n bytes at @p. Returns how many are consumed, with
 * *@ret the bytes to forward (in @p or in @body, until the next call; may be
 * empty), 0 if the body is done or @n is 0, or -EBADMSG. Call it
 * until all is consumed or the body is done: each step consumes something.
 */
ssize_t http_body_step(struct http_body *body, const char *p, size_t n,
		       struct http_span *ret);

/* How many bytes may be moved unseen (by splice) from here, and that they
 * were; @n is at most what http_body_raw() returned
 */
uint64_t http_body_raw(const struct http_body *body);
void http_body_skip(struct http_body *body, uint64_t n);

#endif /* GATE_PROTO_HTTP_BODY_H */
