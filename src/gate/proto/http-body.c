/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/proto/http-body.c - where a message body ends, and what of it is forwarded
 *
 * Theory of operation: bytes that pass as they are (a body with a length, one
 * that ends with its connection, the data of a chunk) are the state DATA and
 * need no look at them. Around the data of chunks runs a machine that takes one
 * byte at a time, so it may be interrupted anywhere; it keeps a size and a
 * count, nothing of what it drops.
 */

#include "gate/proto/http-body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

enum state {
	DATA,		/* @left bytes that pass */
	SIZE,		/* Digits of a chunk's size */
	EXTENSION,	/* After them, up to CR: dropped */
	SIZE_LF,
	DATA_CR, DATA_LF,
	TRAILER,	/* At the start of a line after the last chunk */
	TRAILER_NAME, TRAILER_VALUE, TRAILER_LF,
	END_LF,
	DONE,
	BROKEN,
};

void http_body_init(struct http_body *body, enum http_framing framing,
		    uint64_t length)
{
	*body = (struct http_body){ .framing = framing, .state = DATA };
	switch (framing) {
	case HTTP_BODY_NONE:
		body->state = DONE;
		break;
	case HTTP_BODY_LENGTH:
		body->left = length;
		body->state = length ? DATA : DONE;
		break;
	case HTTP_BODY_CHUNKED:
		body->state = SIZE;
		break;
	case HTTP_BODY_UNTIL_CLOSE:
		body->left = UINT64_MAX;
		break;
	}
}

bool http_body_is_done(const struct http_body *body)
{
	return body->state == DONE;
}

bool http_body_may_end(const struct http_body *body)
{
	return body->state == DONE || body->framing == HTTP_BODY_UNTIL_CLOSE;
}

uint64_t http_body_raw(const struct http_body *body)
{
	return body->state == DATA ? body->left : 0;
}

void http_body_skip(struct http_body *body, uint64_t n)
{
	if (body->framing == HTTP_BODY_UNTIL_CLOSE)
		return;
	body->left -= n;
	if (!body->left)
		body->state = body->framing == HTTP_BODY_CHUNKED ? DATA_CR
								 : DONE;
}

/* Bytes of a value: visible, blank, tab, or beyond ASCII */
static bool is_text(unsigned char c)
{
	return c == '\t' || (c >= 0x20 && c != 0x7f);
}

static enum state size_byte(struct http_body *b, unsigned char c)
{
	const int digit = text_hex_digit((char)c);

	if (digit >= 0) {
		if (++b->count > HTTP_CHUNK_DIGITS_MAX)
			return BROKEN;
		b->left = b->left << 4 | (unsigned int)digit;
		return SIZE;
	}
	if (!b->count)
		return BROKEN;
	b->count = 0;
	if (c == '\r')
		return SIZE_LF;
	return c == ';' ? EXTENSION : BROKEN;
}

static enum state extension_byte(struct http_body *b, unsigned char c)
{
	if (c == '\r')
		return SIZE_LF;
	return is_text(c) && ++b->count < HTTP_CHUNK_EXT_MAX ? EXTENSION
							     : BROKEN;
}

static enum state trailer_byte(struct http_body *b, unsigned char c)
{
	if (c == '\r' && b->state == TRAILER)
		return END_LF;
	if (++b->count > HTTP_TRAILER_MAX)
		return BROKEN;
	switch (b->state) {
	case TRAILER:
		return http_is_token_byte(c) ? TRAILER_NAME : BROKEN;
	case TRAILER_NAME:
		if (c == ':')
			return TRAILER_VALUE;
		return http_is_token_byte(c) ? TRAILER_NAME : BROKEN;
	case TRAILER_VALUE:
		if (c == '\r')
			return TRAILER_LF;
		return is_text(c) ? TRAILER_VALUE : BROKEN;
	default:
		return c == '\n' ? TRAILER : BROKEN;
	}
}

/* The state after one byte around the data of a chunk */
static enum state next_state(struct http_body *b, unsigned char c)
{
	switch (b->state) {
	case SIZE:
		return size_byte(b, c);
	case EXTENSION:
		return extension_byte(b, c);
	case SIZE_LF:
		b->count = 0;
		if (c != '\n')
			return BROKEN;
		return b->left ? DATA : TRAILER;
	case DATA_CR:
		return c == '\r' ? DATA_LF : BROKEN;
	case DATA_LF:
		return c == '\n' ? SIZE : BROKEN;
	case END_LF:
		return c == '\n' ? DONE : BROKEN;
	default:
		return trailer_byte(b, c);
	}
}

/* What is forwarded when @was became another state: our own spelling */
static struct http_span written(struct http_body *b, int was)
{
	int n = 0;

	if (was == SIZE_LF && b->state == DATA)
		n = snprintf(b->line, sizeof(b->line), "%" PRIx64 "\r\n",
			     b->left);
	else if (was == DATA_LF)
		n = snprintf(b->line, sizeof(b->line), "\r\n");
	else if (b->state == DONE)
		n = snprintf(b->line, sizeof(b->line), "0\r\n\r\n");
	return (struct http_span){ b->line, (size_t)n };
}

ssize_t http_body_step(struct http_body *body, const char *p, size_t n,
		       struct http_span *ret)
{
	size_t at = 0;

	*ret = (struct http_span){ body->line, 0 };
	if (body->state == DONE || (!n && body->state != BROKEN))
		return 0;
	if (body->state == DATA) {
		*ret = (struct http_span){ p, n < body->left ? n : (size_t)body->left };
		http_body_skip(body, ret->n);
		return (ssize_t)ret->n;
	}

	/* Up to the first byte that makes something to forward */
	while (at < n && !ret->n && body->state != BROKEN) {
		const int was = body->state;

		body->state = (int)next_state(body, (unsigned char)p[at++]);
		*ret = written(body, was);
	}
	if (body->state == BROKEN) {
		*ret = (struct http_span){ body->line, 0 };
		return -EBADMSG;
	}
	return (ssize_t)at;
}

ssize_t http_body_span(struct http_body *body, const char *p, size_t n)
{
	struct http_span unused;
	size_t at = 0;

	while (at < n && !http_body_is_done(body)) {
		const ssize_t r = http_body_step(body, p + at, n - at, &unused);

		if (r < 0)
			return r;
		at += (size_t)r;
	}
	return (ssize_t)at;
}
