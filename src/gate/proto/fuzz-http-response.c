/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-http-response.c - a response means the same before and after us
 *
 * The second byte of the input chooses what had been asked.
 */

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "gate/proto/http.h"

static void check(const struct http_response *r, const struct http_request *q)
{
	auto_buf struct buf once = { 0 }, twice = { 0 };
	struct http_response again;
	const char *why = NULL;

	fuzz_want(!(r->interim && r->tunnel));
	http_response_write(r, q, false, &once);
	if (!once.len || once.len > HTTP_HEAD_MAX ||
	    r->headers.len >= HTTP_HEADERS_MAX - 1)
		return;
	fuzz_want(!http_response_parse(once.p, once.len, q, &again, &why));
	fuzz_want(r->status == again.status && r->length == again.length);
	fuzz_want(r->framing == again.framing && r->tunnel == again.tunnel);
	http_response_write(&again, q, false, &twice);
	fuzz_want(once.len == twice.len &&
		  !memcmp(once.p, twice.p, once.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_input in = fuzz_input(data, size);
	const unsigned int asked = size > 1 ? data[1] : 0;
	const struct http_request q = {
		.kind = asked & 1 ? HTTP_METHOD_HEAD :
			asked & 2 ? HTTP_METHOD_CONNECT : HTTP_METHOD_GET,
		.minor = !(asked & 4),
		.websocket = (asked & 8) && !(asked & 7),
		.keep_alive = !(asked & 4),
	};
	struct http_scan scan = { 0 };
	const ssize_t n = http_head_scan(&scan, in.p, in.n);
	struct http_response r;
	const char *why = NULL;

	if (n <= 0)
		return 0;
	if (!http_response_parse(in.p, (size_t)n, &q, &r, &why))
		check(&r, &q);
	else
		fuzz_want(why != NULL);
	return 0;
}
