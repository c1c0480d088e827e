/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/helper.c - serve the encrypted file to a program without crypto */

#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/helper.h"
#include "secret/place.h"
#include "secret/vault.h"

/**
 * struct served - The vault that a request speaks of
 */
struct served {
	struct bytes dir, state, file, service, passphrase_file, key_file,
		keyring;
	struct place *place, *seen;
	struct vault *vault;
};

static void served_done(struct served *v)
{
	struct bytes *all[] = { &v->dir, &v->state, &v->file, &v->service,
				&v->passphrase_file, &v->key_file,
				&v->keyring };

	vault_free(v->vault);
	place_free(v->place);
	place_free(v->seen);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		bytes_done(all[i]);
}

#define auto_served __attribute__((cleanup(served_done)))

static const char *string(struct span request, const char *name,
			  struct bytes *room)
{
	return doc_find_string(request, name, room) ? bytes_str(room) : NULL;
}

static int served_init(struct served *v, struct span request, struct err *err)
{
	const char *dir = string(request, "dir", &v->dir);
	const char *state = string(request, "state", &v->state);
	const struct vault_spec spec = {
		.name = string(request, "file", &v->file),
		.service = string(request, "service", &v->service),
		.key = {
			.passphrase_file = string(request, "passphraseFile",
						  &v->passphrase_file),
			.key_file = string(request, "keyFile", &v->key_file),
			.keyring = string(request, "keyring", &v->keyring),
		},
		.place = dir ? place_new(dir) : NULL,
		.state = state ? place_new(state) : NULL,
	};

	v->place = spec.place;
	v->seen = spec.state;
	if (!dir || !spec.name || !spec.service)
		return fail(err, -EINVAL, "not a request");
	v->vault = vault_new(&spec);
	return 0;
}

static int serve_read(struct span request, struct bytes *ret,
		      unsigned int *notes, struct err *err)
{
	auto_served struct served v = { 0 };
	const int r = served_init(&v, request, err);

	return r < 0 ? r : vault_read(v.vault, ret, notes, err);
}

static int serve_update(struct span request, const struct bytes *data,
			unsigned int *notes, struct err *err)
{
	auto_served struct served v = { 0 };
	const int r = served_init(&v, request, err);

	return r < 0 ? r : vault_update(v.vault, data, notes, err);
}

static int serve_delete(struct span request, struct err *err)
{
	auto_served struct served v = { 0 };
	const int r = served_init(&v, request, err);

	return r < 0 ? r : vault_delete(v.vault, err);
}

int secret_helper(void)
{
	static const struct helper_ops ops = {
		serve_read, serve_update, serve_delete,
	};

	return helper_serve(&ops, STDIN_FILENO, STDOUT_FILENO);
}
