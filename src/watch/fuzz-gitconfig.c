/* SPDX-License-Identifier: Apache-2.0 */
/* watch/fuzz-gitconfig.c - what was cleaned is clean */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "watch/gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = { 0 }, twice = { 0 };

	if (gitconfig_clean((const char *)data, size, &once, NULL, NULL) >= 0) {
		if (gitconfig_clean(buf_str(&once), once.len, &twice, NULL,
				    NULL) != 0 ||
		    once.len != twice.len)
			abort();
	}
	buf_done(&once);
	buf_done(&twice);
	return 0;
}
