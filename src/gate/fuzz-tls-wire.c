/* SPDX-License-Identifier: Apache-2.0 */
/* gate/fuzz-tls-wire.c - messages between the gate and cloche-tls lie in their buffers */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "gate/tls-wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_message m;
	struct tls_serve serve;
	struct tls_refused refused;
	char *text;

	if (size < sizeof(m))
		return 0;
	memcpy(&m, data, sizeof(m));
	size -= sizeof(m);
	text = mem_alloc(size ? size : 1); /* Exactly, for the sanitizer */
	memcpy(text, data + sizeof(m), size);
	if (tls_wire_serve(&m, text, size, &serve)) {
		fuzz_want(serve.hello + serve.n == text + size);
		fuzz_want(serve.hello >= text && serve.n <= TLS_HELLO_MAX);
		fuzz_want(m.kind == (serve.plain ? TLS_SERVE_PLAIN : TLS_SERVE));
		fuzz_want(serve.host.kind == HOST_NAME);
	}
	if (tls_wire_refused(text, size, &refused)) {
		size_t n = strlen(refused.reason) + 3;

		n += refused.secret ? strlen(refused.secret) : 0;
		n += refused.fix ? strlen(refused.fix) : 0;
		fuzz_want(n == size);
	}
	free(text);
	return 0;
}
