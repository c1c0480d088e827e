/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backend-plaintext.c - a private file in plaintext: the last resort */

#include "base/mem.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/private-dir.h"

static char *plaintext_name(const struct store *s)
{
	return mem_printf("%s.json", s->files);
}

static int plaintext_read(struct store *s, json_t **ret, struct err *err)
{
	auto_free char *name = plaintext_name(s);
	auto_free char *path = mem_printf("%s/%s", s->dir->path,
					  name);
	auto_bytes struct bytes text = { 0 };
	int r = private_dir_read(s->dir, name, DOCUMENT_MAX, &text, err);

	if (r <= 0)
		return r;
	r = document_parse(bytes_str(&text), text.len, path, ret, err);
	return r < 0 ? r : 1;
}

static int plaintext_write(struct store *s, const struct bytes *text,
			   struct err *err)
{
	auto_free char *name = plaintext_name(s);

	s->warnings |= WARN_PLAINTEXT;
	return private_dir_write(s->dir, name, text->p, text->len, err);
}

static int plaintext_remove(struct store *s, struct err *err)
{
	auto_free char *name = plaintext_name(s);

	return private_dir_remove(s->dir, name, err);
}

const struct backend backend_plaintext = {
	"plaintext", plaintext_read, plaintext_write, plaintext_remove,
};
