/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-http-body.c - a body ends at the same byte however it is cut
 *
 * And what is forwarded of its chunks is, forwarded once more, the same.
 */

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "gate/proto/http-body.h"

/* Bytes consumed, or the error; what is forwarded in @out */
static ssize_t run(struct fuzz_input in, bool raw, struct buf *out,
		   bool *done)
{
	struct http_body body;
	size_t at = 0;

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	while (at < in.n && !http_body_is_done(&body)) {
		size_t piece = fuzz_piece(&in, in.n - at);
		struct http_span span;
		ssize_t r;

		if (raw && http_body_raw(&body)) {	/* As splice would */
			if (piece > http_body_raw(&body))
				piece = (size_t)http_body_raw(&body);
			buf_add(out, in.p + at, piece);
			http_body_skip(&body, piece);
			at += piece;
			continue;
		}
		r = http_body_step(&body, in.p + at, piece, &span);
		if (r < 0)
			return r;
		fuzz_want(r > 0 && (size_t)r <= piece);
		buf_add(out, span.p, span.n);
		at += (size_t)r;
	}
	*done = http_body_is_done(&body);
	return (ssize_t)at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_input cut = fuzz_input(data, size);
	const struct fuzz_input whole = { .p = cut.p, .n = cut.n };
	auto_buf struct buf a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	bool done = false, again = false;
	const ssize_t n = run(whole, false, &a, &done);

	fuzz_want(run(cut, false, &b, &again) == n && again == done);
	fuzz_want(run(cut, true, &c, &again) == n && again == done);
	if (n < 0)
		return 0;
	fuzz_want(a.len == b.len && a.len == c.len);
	fuzz_want(!a.len || (!memcmp(a.p, b.p, a.len) &&
			     !memcmp(a.p, c.p, a.len)));
	if (done) {
		const struct fuzz_input out = { .p = a.p, .n = a.len };

		fuzz_want(run(out, false, &d, &again) == (ssize_t)a.len);
		fuzz_want(again && d.len == a.len &&
			  !memcmp(d.p, a.p, a.len));
	}
	return 0;
}
