/* SPDX-License-Identifier: Apache-2.0 */
/* report/fuzz-violation.c - what is read as a record is written the same */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "report/violation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = { 0 }, second = { 0 };
	struct violation v, again;

	if (violation_from_json((const char *)data, size, &v, NULL) < 0)
		return 0;
	violation_to_json(&v, &first);
	if (violation_from_json(first.p, first.len, &again, NULL) < 0)
		abort();
	violation_to_json(&again, &second);
	if (strcmp(buf_str(&first), buf_str(&second)) ||
	    strchr(first.p, '\n') != first.p + first.len - 1)
		abort();
	violation_done(&v);
	violation_done(&again);
	buf_done(&first);
	buf_done(&second);
	return 0;
}
