/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/fuzz-doc.c - our checker against jansson, and edits against look-ups
 *
 * What jansson takes for an object within the limits, we take, and the other
 * way round; the one difference is numbers too large for jansson. Then every
 * member must be found again under its name, and survive the change of another.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "secret/bytes.h"
#include "secret/doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool truth)
{
	if (!truth)
		abort();
}

static unsigned int depth(json_t *value)
{
	unsigned int below = 0;
	const char *key;
	json_t *child;
	size_t i;

	json_object_foreach(value, key, child)
		below = depth(child) > below ? depth(child) : below;
	json_array_foreach(value, i, child)
		below = depth(child) > below ? depth(child) : below;
	return json_is_object(value) || json_is_array(value) ? below + 1 : 0;
}

static void compare(const char *text, size_t size, bool ours)
{
	json_error_t why;
	json_t *theirs = json_loadb(text, size, JSON_DECODE_ANY, &why);

	if (theirs && json_is_object(theirs) && !ours) {
		/* A name twice, or too deep: nothing else */
		demand(doc_count((struct span){ text, size }) >
		       json_object_size(theirs) ||
		       depth(theirs) > DOC_DEPTH_MAX);
	} else if (ours && !theirs) {
		const enum json_error_code code = json_error_code(&why);

		demand(code == json_error_numeric_overflow);
	}
	demand(!ours || !theirs || json_is_object(theirs));
	json_decref(theirs);
}

static void edit(struct span doc)
{
	auto_bytes struct bytes changed = { 0 };
	struct doc_member m;
	size_t cursor = 0;

	doc_put(doc, "fuzz", span_str("[1]"), &changed);
	demand(doc.n > DOC_MAX - 16 || doc_count(doc) >= DOC_MEMBERS_MAX ||
	       !doc_check(span_of(&changed), "changed", NULL));
	while (doc_next(doc, &cursor, &m)) {
		auto_bytes struct bytes name = { 0 };
		struct span value;

		demand(!doc_unquote(m.key, &name));
		demand(doc_find(doc, bytes_str(&name), &value) &&
		       value.p == m.value.p && value.n == m.value.n);
		if (!strcmp(bytes_str(&name), "fuzz"))
			continue;
		demand(doc_find(span_of(&changed), bytes_str(&name), &value) &&
		       value.n == m.value.n &&
		       !memcmp(value.p, m.value.p, value.n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long, so that a sanitizer sees a step too far */
	char *text = malloc(size ? size : 1);
	const struct span doc = { text, size };
	bool ours;

	if (size > 65536) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	ours = !doc_check(doc, "fuzz", NULL);
	/* jansson steps over a NUL byte here and there; we never do */
	if (memchr(text, '\0', size))
		demand(!ours);
	else
		compare(text, size, ours);
	if (ours)
		edit(doc);
	free(text);
	return 0;
}
