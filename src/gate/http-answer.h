/* SPDX-License-Identifier: Apache-2.0 */
/* gate/http-answer.h - HTTP responses of the proxy itself */

#ifndef GATE_HTTP_ANSWER_H
#define GATE_HTTP_ANSWER_H

#include <stdbool.h>

struct buf;
struct host;

enum http_answer {
	HTTP_ANSWER_BAD_REQUEST, HTTP_ANSWER_BLOCKED,
	HTTP_ANSWER_BLOCKED_ADDRESS, HTTP_ANSWER_METHOD, HTTP_ANSWER_DEADLINE,
	HTTP_ANSWER_MISDIRECTED, HTTP_ANSWER_TOO_LARGE, HTTP_ANSWER_INTERNAL,
	HTTP_ANSWER_UNREACHABLE, HTTP_ANSWER_LIMIT, HTTP_ANSWER_TIMEOUT,
	HTTP_ANSWERS,
};

enum { HTTP_REASON_MAX = 200 };		/* Bytes of a reason; longer is cut */

/**
 * struct http_answer_text - What to add to the table; each may be NULL
 * @reason:	For the status line and the body
 * @host:	The destination
 * @rule:	The rule that decided, as text ("FILE:LINE: KEY")
 * @fix:	What would allow it, one line
 * @head_only:	The request was a HEAD: send no body
 */
struct http_answer_text {
	const char *reason;
	const struct host *host;
	const char *rule, *fix;
	bool head_only;
};

/* The answer to an error of http_request_parse() or http_head_scan() */
enum http_answer http_answer_of(int error);

/* Append a whole response that also closes the connection. @text is made
 * safe: one line, printable ASCII. It may be NULL.
 */
void http_answer_write(enum http_answer answer,
		       const struct http_answer_text *text, struct buf *out);

#endif /* GATE_HTTP_ANSWER_H */
