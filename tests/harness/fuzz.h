/* SPDX-License-Identifier: Apache-2.0 */
/* tests/harness/fuzz.h - what fuzz targets share
 *
 * Fragmentation is part of the input: its first byte says how many sizes
 * follow, those say how the rest is cut into pieces, over and over.
 */

#ifndef HARNESS_FUZZ_H
#define HARNESS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
	const uint8_t *cuts;
	size_t ncuts, next;
	const char *p;
	size_t n;
};

static inline void fuzz_want(bool holds)
{
	if (!holds)
		abort();
}

static inline struct fuzz_input fuzz_input(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { .cuts = data, .p = (const char *)data };

	if (!size)
		return in;
	in.ncuts = data[0] % 16;
	if (in.ncuts > size - 1)
		in.ncuts = size - 1;
	in.cuts = data + 1;
	in.p = (const char *)data + 1 + in.ncuts;
	in.n = size - 1 - in.ncuts;
	return in;
}

/* The size of the next piece of @left bytes; never 0 unless @left is */
static inline size_t fuzz_piece(struct fuzz_input *in, size_t left)
{
	size_t piece = left;

	if (in->ncuts)
		piece = (size_t)1 + in->cuts[in->next++ % in->ncuts];
	return piece < left ? piece : left;
}

/* A copy of the first line of the input, to be freed, and in *@rest what is behind it, as
 * part of the same memory; NULL if there is no line end
 */
static inline char *fuzz_line(const uint8_t *data, size_t size, char **rest)
{
	char *text = calloc(1, size + 1), *end;

	fuzz_want(text);
	memcpy(text, data, size);
	end = strchr(text, '\n');
	if (!end) {
		free(text);
		return NULL;
	}
	*end = '\0';
	*rest = end + 1;
	return text;
}

#endif /* HARNESS_FUZZ_H */
