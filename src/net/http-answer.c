/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-answer.c - what the proxy itself says to a client */

#include "net/http-answer.h"

#include <assert.h>
#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "policy/host.h"

static const struct {
	int status;
	const char *words, *error, *extra, *body;
} answers[] = {
#define ANSWER(id, status, words, error, extra, body) \
	{ status, words, error, extra, body },
#include "net/http-answers.def"
#undef ANSWER
};

static_assert(ARRAY_SIZE(answers) == HTTP_ANSWERS, "one row per answer");

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
 * may an escape sequence reach somebody's terminal
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

static void add_body(const struct http_answer_words *words, struct buf *out)
{
	if (words->host) {
		buf_adds(out, "host: ");
		host_format(words->host, 0, out);
		buf_addc(out, '\n');
	}
	add_line(out, "reason: ", words->reason);
	add_line(out, "rule: ", words->rule);
	add_line(out, "to allow it: ", words->fix);
}

void http_answer_write(enum http_answer answer,
		       const struct http_answer_words *words, struct buf *out)
{
	static const struct http_answer_words none;
	auto_buf struct buf body = { 0 };

	if (!words)
		words = &none;
	buf_addf(&body, "%s\n", answers[answer].body);
	add_body(words, &body);

	buf_addf(out, "HTTP/1.1 %d ", answers[answer].status);
	add_safe(out, words->reason && *words->reason ? words->reason
						      : answers[answer].words);
	buf_addf(out, "\r\nContent-Type: text/plain\r\nX-Proxy-Error: %s\r\n%s"
		 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		 answers[answer].error, answers[answer].extra, body.len);
	if (!words->head_only)
		buf_add(out, body.p, body.len);
}
