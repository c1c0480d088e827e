/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-response.c - what an origin or a parent proxy answers */

#include <errno.h>

#include "net/http-parse.h"

enum {
	STATUS_SWITCHING = 101, STATUS_NO_CONTENT = 204,
	STATUS_NOT_MODIFIED = 304,
	VERSION_LEN = 8,	/* "HTTP/1.1" */
	STATUS_END = 12,	/* "HTTP/1.1 200" */
};

/* HTTP/1.x SP 3 digits, and words after another SP if there are any */
static int line_parse(struct http_span line, struct http_response *ret,
		      const char **why)
{
	const char *p = line.p;
	int status = 0;

	if (line.n < STATUS_END || p[VERSION_LEN] != ' ' ||
	    http_version_parse(p, VERSION_LEN, &ret->minor) < 0)
		return http_refuse(why, -EBADMSG,
				   "the status line is malformed");
	for (size_t i = VERSION_LEN + 1; i < STATUS_END; i++) {
		if (p[i] < '0' || p[i] > '9')
			return http_refuse(why, -EBADMSG,
					   "the status is not a number");
		status = status * 10 + (p[i] - '0');
	}
	if (status < 100 || status > 599 ||
	    (line.n > STATUS_END && p[STATUS_END] != ' '))
		return http_refuse(why, -EBADMSG, "the status is malformed");
	ret->status = status;
	ret->reason = line.n > STATUS_END ?
		http_span(p + STATUS_END + 1, line.n - STATUS_END - 1) :
		http_span(p + STATUS_END, 0);
	return 0;
}

static bool has_body(const struct http_response *r)
{
	return r->declared == HTTP_BODY_CHUNKED || r->length;
}

/* RFC 9112 6.3: status and method come before what the headers declare */
static int decide_framing(struct http_response *r,
			  const struct http_request *request, const char **why)
{
	r->framing = HTTP_BODY_NONE;
	r->interim = r->status < 200 && r->status != STATUS_SWITCHING;
	r->tunnel = r->status == STATUS_SWITCHING ||
		    (request->kind == HTTP_METHOD_CONNECT &&
		     r->status / 100 == 2);

	if (r->status == STATUS_SWITCHING &&
	    (!request->websocket ||
	     !http_header_is(&r->headers, "upgrade", "websocket")))
		return http_refuse(why, -EBADMSG,
				   "the protocol was switched unasked");
	if ((r->status < 200 || r->status == STATUS_NO_CONTENT) && has_body(r))
		return http_refuse(why, -EBADMSG,
				   "a response that has no body declares one");
	if (r->status < 200 || r->tunnel || r->status == STATUS_NO_CONTENT) {
		r->declared = HTTP_BODY_NONE;
		r->length = 0;
		return 0;
	}
	if (r->status == STATUS_NOT_MODIFIED ||
	    request->kind == HTTP_METHOD_HEAD)
		return 0;
	r->framing = r->declared == HTTP_BODY_NONE ? HTTP_BODY_UNTIL_CLOSE
						   : r->declared;
	return 0;
}

int http_response_parse(const char *p, size_t n,
			const struct http_request *request,
			struct http_response *ret, const char **why)
{
	struct http_response q = { 0 };
	struct http_span line;
	int r;

	r = http_head_parse(p, n, &line, &q.headers, why);
	if (!r)
		r = line_parse(line, &q, why);
	/* Who asked in HTTP/1.0 can't read chunks, and was not to get any */
	if (!r)
		r = http_framing_parse(&q.headers, q.minor && request->minor,
				       &q.declared, &q.length, why);
	if (!r)
		r = decide_framing(&q, request, why);
	if (r < 0)
		return r;
	q.keep_alive = q.minor && q.framing != HTTP_BODY_UNTIL_CLOSE &&
		       !q.tunnel &&
		       !http_connection_has(&q.headers, http_span("close", 5));
	*ret = q;
	return 0;
}
