/* SPDX-License-Identifier: Apache-2.0 */
/* secret/vault.h - the encrypted file: its key, its generations, its damage */

#ifndef SECRET_VAULT_H
#define SECRET_VAULT_H

#include "secret/key.h"

struct bytes;
struct err;
struct place;
struct vault;

/**
 * struct vault_spec - Where and how; everything outlives the vault
 * @place:	Of the file
 * @state:	Of the note which generation was seen last; NULL for none
 * @name:	Of the file
 * @service:	Authenticated with the content
 * @key:	Where the key comes from
 */
struct vault_spec {
	struct place *place, *state;
	const char *name, *service;
	struct key_source key;
};

struct vault *vault_new(const struct vault_spec *spec);
void vault_free(struct vault *vault);

/* As a backend's (secret/backend.h), at once. -ENOTSUP: there is no file yet
 * and no key for a new one; -ENOKEY: there is a file and no key for it.
 */
int vault_read(struct vault *vault, struct bytes *ret, unsigned int *notes,
	       struct err *err);
int vault_update(struct vault *vault, const struct bytes *data,
		 unsigned int *notes, struct err *err);
int vault_delete(struct vault *vault, struct err *err);

#endif /* SECRET_VAULT_H */
