/* SPDX-License-Identifier: Apache-2.0 */
/* secret/claim.c - a claim in a small file */

#include "secret/claim.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "secret/bytes.h"
#include "secret/place.h"

static const char *const words[] = {
	[CLAIM_PATCH] = "patch\n",
	[CLAIM_WHOLE] = "whole\n",
};

static int claim_file_get(void *arg, struct err *err)
{
	const struct claim_file *file = arg;
	auto_bytes struct bytes text = { 0 };
	const int r = place_read(file->place, file->name, 16, &text, err);

	if (r <= 0)
		return r < 0 ? r : CLAIM_NONE;
	for (int claim = CLAIM_PATCH; claim <= CLAIM_WHOLE; claim++) {
		if (!strcmp(bytes_str(&text), words[claim]))
			return claim;
	}
	return fail(err, -EBADMSG, "'%s/%s' is damaged: remove it",
		    place_path(file->place), file->name);
}

static int claim_file_set(void *arg, enum claim claim, struct err *err)
{
	const struct claim_file *file = arg;
	const int r = claim == CLAIM_NONE ?
		place_remove(file->place, file->name, err) :
		place_write(file->place, file->name, words[claim],
			    strlen(words[claim]), err);

	return r < 0 ? r : 0;
}

const struct claim_ops claim_file_ops = {
	.get = claim_file_get,
	.set = claim_file_set,
};
