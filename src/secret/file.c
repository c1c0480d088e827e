/* SPDX-License-Identifier: Apache-2.0 */
/* secret/file.c - the encrypted file as a backend, in this process */

#include "secret/file.h"

#include <stdlib.h>

#include "base/mem.h"
#include "secret/backend.h"
#include "secret/bytes.h"

struct file {
	struct backend base;
	struct vault *vault;
};

static struct vault *vault_of(struct backend *b)
{
	return ((struct file *)b)->vault;
}

static void file_read(struct backend *b, answer_fn done, void *arg)
{
	auto_bytes struct bytes data = { 0 };
	struct answer answer = { 0 };

	answer.r = vault_read(vault_of(b), &data, &answer.notes, &answer.err);
	if (answer.r > 0)
		answer.data = &data;
	done(arg, &answer);
}

static void file_update(struct backend *b, const struct bytes *data,
			answer_fn done, void *arg)
{
	struct answer answer = { 0 };

	answer.r = vault_update(vault_of(b), data, &answer.notes, &answer.err);
	done(arg, &answer);
}

static void file_delete(struct backend *b, answer_fn done, void *arg)
{
	struct answer answer = { 0 };

	answer.r = vault_delete(vault_of(b), &answer.err);
	done(arg, &answer);
}

static void file_free(struct backend *b)
{
	vault_free(vault_of(b));
	free(b);
}

static const struct backend_ops file_ops = {
	.name = "file",
	.read = file_read,
	.update = file_update,
	.delete = file_delete,
	.free = file_free,
};

struct backend *file_new(struct loop *loop, const struct file_spec *spec)
{
	struct file *file = mem_zalloc(sizeof(*file));

	(void)loop;	/* Everything is done at once */
	file->base.ops = &file_ops;
	file->vault = vault_new(&spec->vault);
	return &file->base;
}
