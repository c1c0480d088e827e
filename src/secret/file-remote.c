/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/file-remote.c - the encrypted file as a backend, in another process
 *
 * `cloche-secret helper` opens and seals it: whoever embeds the library gets
 * no cryptographic library into the bargain, and scrypt holds no loop up.
 */

#include "secret/backend.h"
#include "secret/file.h"
#include "secret/helper.h"
#include "secret/place.h"

struct backend *file_new(struct loop *loop, const struct file_spec *spec)
{
	const struct vault_spec *vault = &spec->vault;
	const char *const argv[] = { spec->program, "helper", NULL };
	const struct helper_parameter parameters[] = {
		{ "dir", place_path(vault->place) },
		{ "state", vault->state ? place_path(vault->state) : NULL },
		{ "file", vault->name },
		{ "service", vault->service },
		{ "passphraseFile", vault->key.passphrase_file },
		{ "keyFile", vault->key.key_file },
		{ "keyring", vault->key.keyring },
		{ 0 },
	};
	const struct helper_spec helper = {
		.name = "file", .argv = argv, .parameters = parameters,
		.timeout_ms = spec->timeout_ms,
	};

	return helper_new(loop, &helper);
}
