/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-gitconfig.c - what was cleaned is clean */

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "policy/gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *arg, const char *key, const char *value)
{
	(void)arg, (void)key, (void)value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = { 0 }, twice = { 0 };
	const int r = gitconfig_clean((const char *)data, size, &once, NULL,
				      NULL);

	/* Both readers take the same files */
	if ((gitconfig_each((const char *)data, size, ignore, NULL) < 0) !=
	    (r < 0))
		abort();
	if (r >= 0) {
		if (gitconfig_clean(buf_str(&once), once.len, &twice, NULL,
				    NULL) != 0 ||
		    once.len != twice.len)
			abort();
	}
	buf_done(&once);
	buf_done(&twice);
	return 0;
}
