/* SPDX-License-Identifier: Apache-2.0 */
/* secret/helper-words.c - results as words, both ways */

#include "secret/helper-words.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"

static const struct {
	const char *word;
	int r;
} results[] = {
#define RESULT(word, r) { word, r },
#include "secret/results.def"
#undef RESULT
};

int helper_result(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		if (!strcmp(results[i].word, word))
			return results[i].r;
	}
	return -EPROTO;
}

const char *helper_word(int r)
{
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		if (results[i].r == r)
			return results[i].word;
	}
	return "failed";
}
