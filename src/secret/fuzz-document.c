/* SPDX-License-Identifier: Apache-2.0 */
/* secret/fuzz-document.c - what is taken for a document is one object without a
 * NUL, and survives printing; every string in it is found again
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "secret/secret-document.h"
#include "secret/locked-memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_auto_t *doc = NULL, *again = NULL;
	auto_bytes struct bytes text = { 0 };
	const char *name;
	json_t *value;

	if (size > 65536 ||
	    document_parse((const char *)data, size, "fuzz", &doc, NULL) < 0)
		return 0;
	demand(json_is_object(doc) && !memchr(data, '\0', size));
	document_print(doc, &text);
	for (size_t i = 0; i < text.len; i++)
		demand(text.p[i] >= 0x20);
	demand(!document_parse(bytes_str(&text), text.len, "again", &again,
			       NULL));
	demand(json_equal(doc, again));
	json_object_foreach(doc, name, value) {
		if (json_is_string(value))
			demand(!strcmp(document_string(again, name),
				       json_string_value(value)));
	}
	return 0;
}
