/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-icmp.c - what is quoted lies within the message */

#include "fuzz.h"
#include "gate/proto/icmp.h"
#include "ipc/listener.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct listener_client whole = { 0 }, part = { 0 };
	const bool is = icmp_refused(data, size, &whole);

	fuzz_want(is ? whole.udp && (whole.family == 4 || whole.family == 6)
		     : !whole.family);
	/* What is known of a part, more bytes don't change */
	for (size_t n = 0; n < size && n < ICMP_READ_MAX; n++) {
		if (icmp_refused(data, n, &part))
			fuzz_want(is && part.port == whole.port &&
				  part.to_port == whole.to_port);
	}
	return 0;
}
