/* SPDX-License-Identifier: Apache-2.0 */
/* gate/fuzz-http-connect.c - a CONNECT reaches exactly what its target names */

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "gate/proto/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf b = { 0 };
	struct http_request q;
	const char *why = NULL;
	struct host h;
	const int plain = host_parse_authority((const char *)data, size, 0, &h);
	int r;

	buf_adds(&b, "CONNECT ");
	buf_add(&b, data, size);
	buf_adds(&b, " HTTP/1.1\r\n\r\n");
	r = http_request_parse(b.p, b.len, NULL, &q, &why);
	/* A blank or a line end in @data can make another request of it */
	if (memchr(b.p + 8, ' ', size) || memchr(b.p + 8, '\r', size))
		return 0;
	fuzz_want((plain < 0) == (r < 0));
	if (!r)
		fuzz_want(host_is_same(&h, &q.host) && h.port == q.host.port &&
			  q.kind == HTTP_METHOD_CONNECT);
	return 0;
}
