/* SPDX-License-Identifier: Apache-2.0 */
/* secret/plain.c - the last resort: a private file in plaintext */

#include "secret/plain.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/place.h"

struct plain {
	struct backend base;
	struct place *place;
	const char *name;
};

static void plain_read(struct backend *b, answer_fn done, void *arg)
{
	struct plain *plain = (struct plain *)b;
	auto_bytes struct bytes data = { 0 };
	auto_free char *what = mem_printf("%s/%s", place_path(plain->place),
					  plain->name);
	struct answer answer = { 0 };

	answer.r = place_read(plain->place, plain->name, DOC_MAX, &data,
			      &answer.err);
	if (answer.r > 0) {
		const int r = doc_check(span_of(&data), what, &answer.err);

		answer.r = r < 0 ? r : 1;
		answer.data = r < 0 ? NULL : &data;
	}
	done(arg, &answer);
}

static void plain_update(struct backend *b, const struct bytes *data,
			 answer_fn done, void *arg)
{
	struct plain *plain = (struct plain *)b;
	struct answer answer = { .notes = NOTE_PLAINTEXT };
	const int r = place_write(plain->place, plain->name, data->p,
				  data->len, &answer.err);

	answer.r = r < 0 ? r : 1;
	done(arg, &answer);
}

static void plain_delete(struct backend *b, answer_fn done, void *arg)
{
	struct plain *plain = (struct plain *)b;
	struct answer answer = { 0 };

	answer.r = place_remove(plain->place, plain->name, &answer.err);
	done(arg, &answer);
}

static void plain_free(struct backend *b)
{
	free(b);
}

static const struct backend_ops plain_ops = {
	.name = "plaintext",
	.read = plain_read,
	.update = plain_update,
	.delete = plain_delete,
	.free = plain_free,
};

struct backend *plaintext_new(struct place *place, const char *name)
{
	struct plain *plain = mem_zalloc(sizeof(*plain));

	*plain = (struct plain){ { &plain_ops }, place, name };
	return &plain->base;
}
