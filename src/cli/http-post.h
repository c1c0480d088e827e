/* SPDX-License-Identifier: Apache-2.0 */
/* cli/http-post.h - send one document to a collector over HTTP */

#ifndef CLI_HTTP_POST_H
#define CLI_HTTP_POST_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum {
	HTTP_POST_ANSWER_MAX = 64 << 10,	/* Bytes read of an answer */
	HTTP_POST_RETRY_MAX = 300,		/* Seconds that a collector may ask for */
};

/**
 * struct http_post - A request
 * @url:	"http://HOST[:PORT][/PATH]"
 * @headers:	Lines "Name: value\r\n" or ""; they may hold a secret and are in no message
 * @timeout_ms:	For all of it
 */
struct http_post {
	const char *url, *headers;
	const void *body;
	size_t n;
	uint64_t timeout_ms;
};

/**
 * struct http_answer_text - What came back
 * @status:	200 to 599
 * @retry_after: Seconds, or 0
 * @text:	The whole answer, ended by NUL
 */
struct http_answer_text {
	int status;
	unsigned int retry_after;
	struct buf *text;
};

/* 0 and *@ret, whatever its status is; or a negative errno with a message. The connection
 * is closed after it. ret->text is the caller's empty buffer.
 */
int http_post_send(const struct http_post *post, struct http_answer_text *ret, struct err *err);

#endif /* CLI_HTTP_POST_H */
