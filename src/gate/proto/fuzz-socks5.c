/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-socks5.c - a prefix never says more than the whole */

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "gate/proto/socks5.h"

static void check_greeting(const uint8_t *p, size_t n)
{
	bool plain = false, again = false;
	const ssize_t r = socks5_greeting_parse(p, n, &plain);

	fuzz_want(r <= (ssize_t)n && r <= SOCKS5_GREETING_MAX);
	for (size_t cut = 0; cut < n; cut++) {
		const ssize_t s = socks5_greeting_parse(p, cut, &again);

		fuzz_want(!s || (s == r && again == plain));
	}
}

static void check_request(const uint8_t *p, size_t n)
{
	struct host h = { 0 }, again;
	const ssize_t r = socks5_request_parse(p, n, &h);

	fuzz_want(r <= (ssize_t)n && r <= SOCKS5_REQUEST_MAX);
	fuzz_want(r || n < SOCKS5_REQUEST_MAX);
	if (r > 0)
		fuzz_want(h.port && !host_parse(h.name, strlen(h.name), h.port,
						&again) &&
			  host_is_same(&h, &again));
	if (r < 0)
		fuzz_want(r == -EPROTONOSUPPORT || socks5_rep_of((int)r) != 0);
	for (size_t cut = 0; cut < n && cut < SOCKS5_REQUEST_MAX; cut++) {
		const ssize_t s = socks5_request_parse(p, cut, &again);

		fuzz_want(!s || s == r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_greeting(data, size);
	check_request(data, size);
	return 0;
}
