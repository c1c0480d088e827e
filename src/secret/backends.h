/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backends.h - the back ends of a store, and their files */

#ifndef SECRET_BACKENDS_H
#define SECRET_BACKENDS_H

#include <stddef.h>

#include "secret/key.h"
#include "secret/name.h"
#include "secret/select.h"

struct err;
struct loop;
struct place;
struct store_options;

/**
 * struct backends - All back ends, and what they refer to
 * @select:	The one that keeps the store, chosen among all
 * @place:	Directory of the files
 * @state:	Directory of the notes on what was seen
 * @full:	The service as the platform's stores call it
 * @files:	Beginning of the names of the files
 * @plain:	Name of the plaintext file, and so on
 */
struct backends {
	struct select select;
	struct place *place, *state;
	char full[SERVICE_SIZE], account[ACCOUNT_SIZE];
	char *files, *plain, *sealed, *lock;
	char *passphrase_file, *key_file, *keyring, *service;
};

/* 0, or a negative errno with nothing left to free */
int backends_init(struct backends *b, struct loop *loop,
		  const struct store_options *options, struct err *err);
void backends_done(struct backends *b);

#endif /* SECRET_BACKENDS_H */
