/* SPDX-License-Identifier: Apache-2.0 */
/* base/fuzz-json.c - whatever parses, each of its values can be located; what is
 * read quickly is what jansson reads
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void locate_all(const char *text, size_t n, json_t *value,
		       const char *path)
{
	struct json_place at;
	const char *key;
	json_t *child;
	size_t i;

	if (json_locate(text, n, path, &at) < 0 || at.end <= at.offset ||
	    at.end > n)
		abort();
	json_object_foreach(value, key, child) {
		struct buf below = { 0 };

		buf_adds(&below, path);
		json_path_key(&below, key);
		locate_all(text, n, child, buf_str(&below));
		buf_done(&below);
	}
	json_array_foreach(value, i, child) {
		struct buf below = { 0 };

		buf_adds(&below, path);
		json_path_index(&below, i);
		locate_all(text, n, child, buf_str(&below));
		buf_done(&below);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_zalloc(size + 1);
	json_t *root;

	memcpy(text, data, size);
	root = json_parse(text, size, "fuzz", NULL);
	/* Locating is linear per value: keep the square in hand */
	if (root && size < 4096)
		locate_all(text, size, root, "");
	json_decref(root);
	free(text);
	return 0;
}
