/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-http-request.c - a request means the same before and after us
 *
 * A head is found at the same place however it is cut. What is accepted is
 * written so that we read it back as the same request for the same host, and
 * writing that once more changes nothing.
 */

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "gate/proto/http.h"

static ssize_t scan_in_pieces(struct fuzz_input in)
{
	struct http_scan scan = { 0 };
	ssize_t r = 0;

	for (size_t n = 0; !r && n < in.n;) {
		n += fuzz_piece(&in, in.n - n);
		r = http_head_scan(&scan, in.p, n);
	}
	return r;
}

static void check_forwarded(const struct http_request *q)
{
	auto_buf struct buf once = { 0 }, twice = { 0 };
	const char *why = NULL;
	struct http_request again;

	http_request_write(q, false, NULL, &once);
	/* It may have grown by "/", Host or a final line; not without bound */
	fuzz_want(once.len < HTTP_HEAD_MAX + 512);
	if (once.len > HTTP_HEAD_MAX || q->headers.len == HTTP_HEADERS_MAX)
		return;
	fuzz_want(!http_request_parse(once.p, once.len, &q->host, &again,
				      &why));
	fuzz_want(host_is_same(&q->host, &again.host));
	fuzz_want(host_is_same(&q->vhost, &again.vhost));
	fuzz_want(q->host.port == again.host.port);
	fuzz_want(q->framing == again.framing && q->length == again.length);
	fuzz_want(q->websocket == again.websocket && q->kind == again.kind);
	http_request_write(&again, false, NULL, &twice);
	fuzz_want(once.len == twice.len &&
		  !memcmp(once.p, twice.p, once.len));
	fuzz_want(!strcasestr(once.p, "\nproxy-authorization:"));
}

static void check(const char *p, size_t n, const struct host *captured)
{
	const char *why = NULL;
	struct http_request q;

	if (http_request_parse(p, n, captured, &q, &why) < 0) {
		fuzz_want(why != NULL);
		return;
	}
	fuzz_want(q.host.port != 0);
	if (captured)
		fuzz_want(host_is_same(&q.host, captured));
	if (q.kind != HTTP_METHOD_CONNECT)
		check_forwarded(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_input in = fuzz_input(data, size);
	struct http_scan scan = { 0 };
	const ssize_t n = http_head_scan(&scan, in.p, in.n);
	struct host captured;

	fuzz_want(scan_in_pieces(in) == n);
	if (n <= 0)
		return 0;
	fuzz_want((size_t)n <= in.n && n <= HTTP_HEAD_MAX);
	check(in.p, (size_t)n, NULL);
	fuzz_want(!host_parse("a.test", 6, 80, &captured));
	check(in.p, (size_t)n, &captured);
	fuzz_want(!host_parse("10.0.0.1", 8, 8080, &captured));
	check(in.p, (size_t)n, &captured);
	return 0;
}
