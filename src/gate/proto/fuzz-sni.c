/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-sni.c - a ClientHello names the same host however it is cut
 *
 * The input is both a byte stream and a handshake message; of the latter, the
 * result must not depend on how it is spread over records.
 */

#include "base/buf.h"
#include "fuzz.h"
#include "gate/proto/sni.h"

static void check_prefixes(const uint8_t *p, size_t n)
{
	struct host sni = { 0 }, again = { 0 };
	const enum sni_result whole = sni_parse(p, n, &sni);

	if (whole == SNI_NAME)
		fuzz_want(*sni.name && !sni.port);
	for (size_t cut = 0; cut < n && cut < 512; cut++) {
		const enum sni_result r = sni_parse(p, cut, &again);

		fuzz_want(r == SNI_MORE || r == whole);
	}
}

static enum sni_result in_records(struct fuzz_input in, struct host *ret)
{
	auto_buf struct buf b = { 0 };

	for (size_t at = 0; at < in.n;) {
		const size_t n = fuzz_piece(&in, in.n - at);

		buf_add(&b, "\26\3\1", 3);
		buf_addc(&b, (char)(n >> 8));
		buf_addc(&b, (char)n);
		buf_add(&b, in.p + at, n);
		at += n;
	}
	return b.len > SNI_PEEK_MAX ? SNI_MALFORMED :
		sni_parse((const uint8_t *)buf_str(&b), b.len, ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_input cut = fuzz_input(data, size);
	const struct fuzz_input whole = { .p = cut.p, .n = cut.n };
	struct host a = { 0 }, b = { 0 };

	check_prefixes(data, size);
	if (cut.n > 2048)
		return 0;
	/* A record may end before what follows the hello starts */
	if (in_records(whole, &a) == SNI_NAME) {
		fuzz_want(in_records(cut, &b) == SNI_NAME);
		fuzz_want(host_is_same(&a, &b));
	}
	return 0;
}
