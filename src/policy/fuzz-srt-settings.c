/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-srt-settings.c - a settings file of srt: what passes passes again with
 * unknown keys gone, and every problem has a message
 */

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "policy/srt-settings.h"

static bool is_disabled(const json_t *root)
{
	return json_is_true(json_object_get(json_object_get(root, "filesystem"),
					    "disabled"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = mem_zalloc(size + 1);
	struct err err = { 0 };
	json_t *root, *copy;
	int r;

	memcpy(text, data, size);
	root = json_parse(text, size, "f", NULL);
	if (!root)
		return 0;
	copy = json_deep_copy(root);
	r = srt_check(root, &err);
	fuzz_want(!r == !*err.msg);
	fuzz_want(srt_check(copy, NULL) == r);
	fuzz_want(json_equal(root, copy));
	/* Where the lists mean nothing they are gone, and would be missed */
	if (!r && !is_disabled(root))
		fuzz_want(srt_check(copy, NULL) == 0 && json_equal(root, copy));
	json_decref(root);
	json_decref(copy);
	return 0;
}
