/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-answer.h - what the proxy itself says to a client */

#ifndef NET_HTTP_ANSWER_H
#define NET_HTTP_ANSWER_H

#include <stdbool.h>

struct buf;
struct host;

enum http_answer {
#define ANSWER(id, status, words, error, extra, body) HTTP_ANSWER_##id,
#include "net/http-answers.def"
#undef ANSWER
	HTTP_ANSWERS,
};

enum { HTTP_REASON_MAX = 200 };		/* Bytes of a reason; longer is cut */

/**
 * struct http_answer_words - What to say beyond the table; each may be NULL
 * @reason:	For the status line and the body: the verdict's words
 * @host:	The destination
 * @rule:	The rule that decided, as text ("FILE:LINE: KEY")
 * @fix:	What would allow it, one line
 * @head_only:	The request was a HEAD: send no body
 */
struct http_answer_words {
	const char *reason;
	const struct host *host;
	const char *rule, *fix;
	bool head_only;
};

/* The answer to an error of http_request_parse() or http_head_scan() */
enum http_answer http_answer_of(int error);

/* Append a whole response that also closes the connection. Words are made
 * safe: one line, printable ASCII. @words may be NULL.
 */
void http_answer_write(enum http_answer answer,
		       const struct http_answer_words *words, struct buf *out);

#endif /* NET_HTTP_ANSWER_H */
