/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-parse.h - what request and response heads have in common; for the
 * http-*.c files only
 */

#ifndef NET_HTTP_PARSE_H
#define NET_HTTP_PARSE_H

#include "net/http.h"

/* Say why a message can't be forwarded, and return @code */
int http_refuse(const char **why, int code, const char *words);

/* Split a whole head into its first line and its headers. 0, -EBADMSG or
 * -EMSGSIZE with *@why.
 */
int http_head_parse(const char *p, size_t n, struct http_span *line,
		    struct http_headers *ret, const char **why);

/* What Content-Length and Transfer-Encoding say: at most one of them, once.
 * HTTP_BODY_NONE if there is neither.
 */
int http_framing_parse(const struct http_headers *headers, unsigned int minor,
		       enum http_framing *ret, uint64_t *length,
		       const char **why);

/* "HTTP/1.0" or "HTTP/1.1", @n bytes; -EBADMSG for anything else */
int http_version_parse(const char *p, size_t n, unsigned int *minor);

/* True if a Connection header names @token, any case */
bool http_connection_has(const struct http_headers *headers,
			 struct http_span token);

/* True if there is one header @name and its value is @value, any case */
bool http_header_is(const struct http_headers *headers, const char *name,
		    const char *value);

bool http_is_token(struct http_span span);

static inline struct http_span http_span(const char *p, size_t n)
{
	return (struct http_span){ p, n };
}

#endif /* NET_HTTP_PARSE_H */
