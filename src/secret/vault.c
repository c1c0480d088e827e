/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/vault.c - the encrypted file: its key, its generations, its damage
 *
 * Theory of operation: every write counts the generation in the header up by
 * one, and then notes it in another directory. A file that is older than the
 * note is still authentic, but somebody put it back: the reader hears of it.
 * The note is read before the file, so that a writer in between can only make
 * the file newer. The master key is kept (locked) for the life of the vault,
 * because an edit needs it twice and scrypt is slow by design.
 */

#include "secret/vault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/crypt.h"
#include "secret/doc.h"
#include "secret/place.h"

enum { FILE_MAX = CRYPT_HEADER + DOC_MAX + CRYPT_TAG };

/**
 * struct vault - The file, and the key once it is known
 * @info:	What @master was derived with
 * @loose:	Others may read where the key comes from
 */
struct vault {
	struct vault_spec spec;
	char *seen_name;
	struct bytes master;
	struct crypt_info info;
	bool loose;
};

struct vault *vault_new(const struct vault_spec *spec)
{
	struct vault *vault = mem_zalloc(sizeof(*vault));

	vault->spec = *spec;
	vault->seen_name = mem_printf("%s.generation", spec->name);
	return vault;
}

void vault_free(struct vault *vault)
{
	if (!vault)
		return;
	bytes_done(&vault->master);
	free(vault->seen_name);
	free(vault);
}

static int in_file(struct vault *vault, int code, struct err *err)
{
	return fail_in(err, code, "%s/%s", place_path(vault->spec.place),
		       vault->spec.name);
}

static uint64_t seen_generation(struct vault *vault)
{
	auto_bytes struct bytes text = { 0 };
	uint64_t seen = 0;

	if (vault->spec.state &&
	    place_read(vault->spec.state, vault->seen_name, 32, &text,
		       NULL) == 1)
		(void)text_to_u64(bytes_str(&text), UINT64_MAX, &seen);
	return seen;
}

/* Not being able to note it takes a warning away, and nothing else */
static void note_generation(struct vault *vault, uint64_t generation)
{
	char text[24];
	const int n = snprintf(text, sizeof(text), "%" PRIu64, generation);

	if (vault->spec.state)
		(void)place_write(vault->spec.state, vault->seen_name, text,
				  (size_t)n, NULL);
}

static bool same_master(const struct vault *vault,
			const struct crypt_info *info)
{
	return vault->master.len && vault->info.kind == info->kind &&
	       vault->info.log_n == info->log_n &&
	       !memcmp(vault->info.salt, info->salt, CRYPT_SALT);
}

/* Have the master key that @info asks for; a fresh store (kind 0) takes the
 * kind from the source
 */
static int need_master(struct vault *vault, struct crypt_info *info,
		       struct err *err)
{
	auto_bytes struct bytes material = { 0 };
	int kind, r;

	if (same_master(vault, info))
		return 0;
	if (info->kind == KEY_RANDOM && !key_is_configured(&vault->spec.key))
		return fail(err, -ENOKEY,
			    "the encrypted store needs its key: use --key-file, CLOCHE_KEY_FILE or --keyring");
	kind = key_get(&vault->spec.key, !info->kind, &material, &vault->loose,
		       err);
	if (kind < 0)
		return kind;
	if (info->kind && info->kind != kind)
		return fail(err, -EKEYREJECTED,
			    info->kind == KEY_PASSPHRASE ?
			    "it opens with a passphrase, not with a key" :
			    "it opens with a key, not with a passphrase");
	info->kind = kind;
	r = crypt_master(info, &material, &vault->master, err);
	if (r < 0)
		return r;
	vault->info = *info;
	return 0;
}

static int open_file(struct vault *vault, const struct bytes *file,
		     struct crypt_info *info, struct bytes *ret,
		     struct err *err)
{
	int r = crypt_info(file->p, file->len, info, err);

	if (!r)
		r = need_master(vault, info, err);
	if (!r)
		r = crypt_open(&vault->master, vault->spec.service, file->p,
			       file->len, ret, err);
	if (r == -EKEYREJECTED)
		bytes_done(&vault->master);
	return r < 0 ? in_file(vault, r, err) : 0;
}

int vault_read(struct vault *vault, struct bytes *ret, unsigned int *notes,
	       struct err *err)
{
	const uint64_t seen = seen_generation(vault);
	auto_bytes struct bytes file = { 0 };
	struct crypt_info info = { 0 };
	int r = place_read(vault->spec.place, vault->spec.name, FILE_MAX,
			   &file, err);

	if (r <= 0)
		return r;
	r = open_file(vault, &file, &info, ret, err);
	if (r < 0)
		return r;
	r = doc_check(span_of(ret), "its content", err);
	if (r < 0)
		return in_file(vault, r, err);
	if (info.generation < seen)
		*notes |= NOTE_ROLLBACK;
	else if (info.generation > seen)
		note_generation(vault, info.generation);
	return 1;
}

/* The parameters of the next file: those of the present one, which the key
 * must open, or fresh ones
 */
static int next_info(struct vault *vault, struct crypt_info *info,
		     struct err *err)
{
	auto_bytes struct bytes file = { 0 }, old = { 0 };
	int r = place_read(vault->spec.place, vault->spec.name, FILE_MAX,
			   &file, err);

	if (r > 0)
		return open_file(vault, &file, info, &old, err);
	if (r < 0)
		return r;
	*info = (struct crypt_info){ .log_n = CRYPT_LOG_N };
	r = crypt_salt(info->salt, err);
	if (!r)
		r = need_master(vault, info, err);
	/* Nothing is lost yet: another backend may take it */
	return r == -ENOKEY && !key_is_configured(&vault->spec.key) ?
		fail(err, -ENOTSUP, "%s", err ? err->msg : "no key") : r;
}

int vault_update(struct vault *vault, const struct bytes *data,
		 unsigned int *notes, struct err *err)
{
	const uint64_t seen = seen_generation(vault);
	auto_bytes struct bytes file = { 0 };
	struct crypt_info info = { 0 };
	int r;

	if (data->len > DOC_MAX)
		return fail(err, -EFBIG, "more than %d bytes of secrets",
			    DOC_MAX);
	r = next_info(vault, &info, err);
	if (r < 0)
		return r;
	info.generation = (info.generation > seen ? info.generation : seen) + 1;
	r = crypt_seal(&info, &vault->master, vault->spec.service, data, &file,
		       err);
	if (r < 0)
		return in_file(vault, r, err);
	r = place_write(vault->spec.place, vault->spec.name, file.p, file.len,
			err);
	if (r < 0)
		return r;
	note_generation(vault, info.generation);
	if (vault->loose)
		*notes |= NOTE_LOOSE_KEY;
	return 1;
}

int vault_delete(struct vault *vault, struct err *err)
{
	return place_remove(vault->spec.place, vault->spec.name, err);
}
