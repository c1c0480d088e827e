/* SPDX-License-Identifier: Apache-2.0 */
/* gate/http-answer.c - HTTP responses of the proxy itself */

#include "gate/http-answer.h"

#include <errno.h>

#include "base/buf.h"
#include "policy/host.h"

/* @phrase: of the status line, where the caller has no reason; @error: value of
 * X-Proxy-Error; @extra: further header lines
 */
static const struct {
	int status;
	const char *phrase, *error, *extra, *body;
} answers[HTTP_ANSWERS] = {
	[HTTP_ANSWER_BAD_REQUEST] = { 400, "Bad Request", "bad-request", "",
	  "The request is malformed, or can be read in more than one way." },
	[HTTP_ANSWER_BLOCKED] = { 403, "Forbidden", "blocked-by-allowlist", "",
	  "Connection blocked by network allowlist" },
	[HTTP_ANSWER_BLOCKED_ADDRESS] = { 403, "Forbidden", "blocked-by-sandbox-runtime", "",
	  "Connection blocked by the resolved-address guard" },
	[HTTP_ANSWER_METHOD] = { 405, "Method Not Allowed", "method-not-allowed",
	  "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT\r\n",
	  "This method is not forwarded." },
	[HTTP_ANSWER_DEADLINE] = { 408, "Request Timeout", "request-timeout", "",
	  "The request did not arrive in time." },
	[HTTP_ANSWER_MISDIRECTED] = { 421, "Misdirected Request", "misdirected-request", "",
	  "The request is for another host than the connection: connect to that host." },
	[HTTP_ANSWER_TOO_LARGE] = { 431, "Request Header Fields Too Large", "head-too-large", "",
	  "The head of the request is too large: send fewer or shorter header fields (cookies), or a shorter address." },
	[HTTP_ANSWER_INTERNAL] = { 500, "Internal Server Error", "internal-error", "",
	  "The proxy failed." },
	[HTTP_ANSWER_UNREACHABLE] = { 502, "Bad Gateway", "upstream-unreachable", "",
	  "The host could not be reached, or its answer could not be read." },
	[HTTP_ANSWER_LIMIT] = { 503, "Service Unavailable", "too-many-connections", "",
	  "Too many connections at once." },
	[HTTP_ANSWER_TIMEOUT] = { 504, "Gateway Timeout", "upstream-timeout", "",
	  "The host did not answer in time." },
};

enum http_answer http_answer_of(int error)
{
	switch (error) {
	case -EMSGSIZE:
		return HTTP_ANSWER_TOO_LARGE;
	case -EOPNOTSUPP:
		return HTTP_ANSWER_METHOD;
	default:
		return HTTP_ANSWER_BAD_REQUEST;
	}
}

/* Reasons come from settings: a line break in one must not end the line, nor
 * may an escape sequence reach a terminal
 */
static void add_safe(struct buf *out, const char *text)
{
	for (size_t i = 0; text[i] && i < HTTP_REASON_MAX; i++)
		buf_addc(out, text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

static void add_line(struct buf *out, const char *label, const char *text)
{
	if (!text)
		return;
	buf_adds(out, label);
	add_safe(out, text);
	buf_addc(out, '\n');
}

static void add_body(const struct http_answer_text *text, struct buf *out)
{
	if (text->host) {
		buf_adds(out, "host: ");
		host_format(text->host, 0, out);
		buf_addc(out, '\n');
	}
	add_line(out, "reason: ", text->reason);
	add_line(out, "rule: ", text->rule);
	add_line(out, "to allow it: ", text->fix);
}

void http_answer_write(enum http_answer answer,
		       const struct http_answer_text *text, struct buf *out)
{
	static const struct http_answer_text none;
	auto_buf struct buf body = { 0 };

	if (!text)
		text = &none;
	buf_addf(&body, "%s\n", answers[answer].body);
	add_body(text, &body);

	buf_addf(out, "HTTP/1.1 %d ", answers[answer].status);
	add_safe(out, text->reason && *text->reason ? text->reason
						      : answers[answer].phrase);
	buf_addf(out, "\r\nContent-Type: text/plain\r\nX-Proxy-Error: %s\r\n%s"
		 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		 answers[answer].error, answers[answer].extra, body.len);
	if (!text->head_only)
		buf_add(out, body.p, body.len);
}
