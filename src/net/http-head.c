/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/http-head.c - lines, header fields and framing of an HTTP/1.x head
 *
 * Theory of operation: two parsers that disagree on where a message ends can
 * be made to disagree on what is asked for. So whatever RFC 9112 lets a lenient
 * parser repair is refused here: bare CR and LF, folded lines, blanks before a
 * colon, two lengths, a length and a coding, codings that we do not know. What
 * is left has one reading, and is written anew for the other side anyway.
 */

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "net/http-parse.h"

enum { LENGTH_DIGITS_MAX = 18 };	/* Fits in 63 bits */

int http_refuse(const char **why, int code, const char *words)
{
	if (why)
		*why = words;
	return code;
}

/* The byte at scan->at ends a line: 0, or the head's length if it was the
 * blank one, or an error
 */
static ssize_t scan_line_end(struct http_scan *scan, const char *p)
{
	const size_t end = scan->at + 1;

	if (scan->at == scan->line || p[scan->at - 1] != '\r')
		return -EBADMSG;
	if (scan->at - 1 == scan->line)		/* The blank line */
		return scan->lines ? (ssize_t)end : -EBADMSG;
	if (scan->lines++ > HTTP_HEADERS_MAX)
		return -EMSGSIZE;
	scan->line = end;
	return 0;
}

ssize_t http_head_scan(struct http_scan *scan, const char *p, size_t n)
{
	for (; scan->at < n; scan->at++) {
		const unsigned char c = (unsigned char)p[scan->at];
		const bool after_cr = scan->at > scan->line &&
				      p[scan->at - 1] == '\r';

		if (scan->at >= HTTP_HEAD_MAX)
			return -EMSGSIZE;
		if (c == '\n') {
			const ssize_t r = scan_line_end(scan, p);

			if (r)
				return r;
			continue;
		}
		if (after_cr || c == 0x7f ||
		    (c < 0x20 && c != '\t' && c != '\r'))
			return -EBADMSG;
		if (!scan->lines && c != '\r' && scan->at >= HTTP_LINE_MAX)
			return -EMSGSIZE;
	}
	return n < HTTP_HEAD_MAX ? 0 : -EMSGSIZE;
}

static bool is_token_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool http_is_token(struct http_span span)
{
	for (size_t i = 0; i < span.n; i++) {
		if (!is_token_byte((unsigned char)span.p[i]))
			return false;
	}
	return span.n > 0;
}

static struct http_span trim(struct http_span s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

bool http_span_is(struct http_span span, const char *text)
{
	return span.n == strlen(text) && !strncasecmp(span.p, text, span.n);
}

static bool span_same(struct http_span a, struct http_span b)
{
	return a.n == b.n && !strncasecmp(a.p, b.p, a.n);
}

static int field_parse(struct http_span line, struct http_header *ret,
		       const char **why)
{
	const char *colon = memchr(line.p, ':', line.n);

	if (*line.p == ' ' || *line.p == '\t')
		return http_refuse(why, -EBADMSG, "a header line is folded");
	if (!colon)
		return http_refuse(why, -EBADMSG, "a header line has no colon");
	ret->name = http_span(line.p, (size_t)(colon - line.p));
	if (!http_is_token(ret->name))
		return http_refuse(why, -EBADMSG, "a header name is malformed");
	ret->value = trim(http_span(colon + 1,
				    line.n - ret->name.n - 1));
	return 0;
}

int http_version_parse(const char *p, size_t n, unsigned int *minor)
{
	if (n != 8 || memcmp(p, "HTTP/1.", 7) != 0 ||
	    (p[7] != '0' && p[7] != '1'))
		return -EBADMSG;
	*minor = (unsigned int)(p[7] - '0');
	return 0;
}

struct http_span http_header_find(const struct http_headers *headers,
				  const char *name)
{
	for (size_t i = 0; i < headers->len; i++) {
		if (http_span_is(headers->v[i].name, name))
			return headers->v[i].value;
	}
	return http_span(NULL, 0);
}

static size_t header_count(const struct http_headers *headers,
			   const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < headers->len; i++)
		count += http_span_is(headers->v[i].name, name);
	return count;
}

bool http_header_is(const struct http_headers *headers, const char *name,
		    const char *value)
{
	return header_count(headers, name) == 1 &&
	       http_span_is(http_header_find(headers, name), value);
}

/* The next element of a comma-separated list, which is moved past it */
static struct http_span list_next(struct http_span *list)
{
	const char *comma = memchr(list->p, ',', list->n);
	const size_t n = comma ? (size_t)(comma - list->p) : list->n;
	const struct http_span element = http_span(list->p, n);

	*list = http_span(list->p + n + (comma ? 1 : 0),
			  list->n - n - (comma ? 1 : 0));
	return trim(element);
}

bool http_connection_has(const struct http_headers *headers,
			 struct http_span token)
{
	for (size_t i = 0; i < headers->len; i++) {
		struct http_span list = headers->v[i].value;

		if (!http_span_is(headers->v[i].name, "connection"))
			continue;
		while (list.n) {
			if (span_same(list_next(&list), token))
				return true;
		}
	}
	return false;
}

/* Every header is compared with every name in Connection: keep them few */
static int check_connection(const struct http_headers *headers,
			    const char **why)
{
	unsigned int count = 0;

	for (size_t i = 0; i < headers->len; i++) {
		struct http_span list = headers->v[i].value;

		if (!http_span_is(headers->v[i].name, "connection"))
			continue;
		while (list.n) {
			if (!http_is_token(list_next(&list)) ||
			    ++count > HTTP_CONNECTION_MAX)
				return http_refuse(why, -EBADMSG,
						   "the Connection header is malformed");
		}
	}
	return 0;
}

int http_head_parse(const char *p, size_t n, struct http_span *line,
		    struct http_headers *ret, const char **why)
{
	struct http_scan scan = { 0 };
	const ssize_t len = http_head_scan(&scan, p, n);
	const char *end, *eol;

	if (len == -EMSGSIZE)
		return http_refuse(why, -EMSGSIZE, "the head is too large");
	if (len <= 0 || (size_t)len != n)
		return http_refuse(why, -EBADMSG, "the head is malformed");

	/* Every line ends in CRLF, and no CR is elsewhere */
	end = p + n - 2;
	eol = memchr(p, '\r', n);
	*line = http_span(p, (size_t)(eol - p));
	ret->len = 0;
	for (p = eol + 2; p < end; p = eol + 2) {
		int r;

		eol = memchr(p, '\r', (size_t)(end - p));
		r = field_parse(http_span(p, (size_t)(eol - p)),
				&ret->v[ret->len], why);
		if (r < 0)
			return r;
		ret->len++;
	}
	return check_connection(ret, why);
}

/* Plain decimal without leading zeros; what else has been read as a length
 * ("+5", "0x5", "5,5", "05") is none
 */
static int length_parse(struct http_span s, uint64_t *ret)
{
	uint64_t value = 0;

	if (!s.n || s.n > LENGTH_DIGITS_MAX || (s.n > 1 && *s.p == '0'))
		return -EBADMSG;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EBADMSG;
		value = value * 10 + (uint64_t)(s.p[i] - '0');
	}
	*ret = value;
	return 0;
}

int http_framing_parse(const struct http_headers *headers, unsigned int minor,
		       enum http_framing *ret, uint64_t *length,
		       const char **why)
{
	const size_t lengths = header_count(headers, "content-length");
	const size_t codings = header_count(headers, "transfer-encoding");

	*ret = HTTP_BODY_NONE;
	*length = 0;
	if (lengths + codings > 1)
		return http_refuse(why, -EBADMSG,
				   "the body's length is given twice");
	if (codings) {
		if (!minor || !http_header_is(headers, "transfer-encoding",
					      "chunked"))
			return http_refuse(why, -EBADMSG,
					   "the transfer coding is not plain chunked");
		*ret = HTTP_BODY_CHUNKED;
	}
	if (lengths) {
		if (length_parse(http_header_find(headers, "content-length"),
				 length) < 0)
			return http_refuse(why, -EBADMSG,
					   "the body's length is malformed");
		*ret = HTTP_BODY_LENGTH;
	}
	return 0;
}
