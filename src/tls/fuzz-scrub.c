/* SPDX-License-Identifier: Apache-2.0 */
/* tls/fuzz-scrub.c - what comes out does not depend on how a response is cut
 *
 * The first bytes say how long the pieces are.
 */

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "tls/scrub.h"

enum { CUTS = 4 };

static void add_values(struct scrub *s)
{
	scrub_add(s, "abcabdab", "ABCDEFGH", 8);
	scrub_add(s, "abcabdabxyz", "01234567890",
		  11); /* Begins as the other */
	scrub_add(s, "aaaaaaaa", "aaaabbbb",
		  8); /* Overlaps itself and its own */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf whole = { 0 }, cut = { 0 };
	struct scrub s = { 0 };
	const char *p = (const char *)data + CUTS;
	size_t at = 0;

	if (size < CUTS)
		return 0;
	size -= CUTS;
	add_values(&s);
	scrub_step(&s, p, size, true, &whole);
	fuzz_want(!s.held.len && whole.len == size);
	scrub_done(&s);
	add_values(&s);
	for (size_t i = 0; at < size; i++) {
		const size_t left = size - at;
		size_t n = data[i % CUTS];

		n = n < left ? n : left;
		n = n ? n : 1;
		scrub_step(&s, p + at, n, false, &cut);
		at += n;
		fuzz_want(cut.len + s.held.len == at && s.held.len < 16);
	}
	scrub_step(&s, NULL, 0, true, &cut);
	scrub_done(&s);
	fuzz_want(cut.len == whole.len &&
		  (!cut.len || !memcmp(cut.p, whole.p, cut.len)));
	return 0;
}
