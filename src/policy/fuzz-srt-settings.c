/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-srt.c - a settings file of srt: what passes passes again with
 * unknown keys gone, and problems come with words or not at all
 */

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "policy/srt.h"

static bool is_disabled(const json_t *root)
{
	return json_is_true(json_object_get(json_object_get(root, "filesystem"),
					    "disabled"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = mem_zalloc(size + 1);
	auto_buf struct buf words = { 0 };
	json_t *root, *copy;
	size_t count;

	memcpy(text, data, size);
	root = json_parse(text, size, "f", NULL);
	if (!root)
		return 0;
	copy = json_deep_copy(root);
	count = srt_check(root, &words);
	fuzz_want(!count == !words.len);
	fuzz_want(srt_check(copy, NULL) == count);
	fuzz_want(json_equal(root, copy));
	/* Where the lists mean nothing they are gone, and would be missed */
	if (!count && !is_disabled(root))
		fuzz_want(srt_check(copy, NULL) == 0 && json_equal(root, copy));
	json_decref(root);
	json_decref(copy);
	return 0;
}
