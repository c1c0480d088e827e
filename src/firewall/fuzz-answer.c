/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/fuzz-answer.c - whatever a resolver sends is read or refused */

#include <errno.h>

#include "firewall/answer.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum host_kind kinds[] = { HOST_IPV4, HOST_IPV6 };
	const uint16_t id = size >= 2 ?
		(uint16_t)(data[0] << 8 | data[1]) : 0;

	for (size_t k = 0; k < 2; k++) {
		struct resolver_answer a = { .len = 0 };
		const int r = answer_read(data, size, kinds[k], id, &a);

		fuzz_want(r == 0 || r == -ENOENT || r == -EMSGSIZE ||
			  r == -EAGAIN || r == -EBADMSG);
		fuzz_want(a.len <= ANSWER_ADDRESSES_MAX);
		for (size_t i = 0; i < a.len; i++)
			fuzz_want(a.v[i].kind != HOST_NAME);
	}
	return 0;
}
