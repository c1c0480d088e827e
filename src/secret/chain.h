/* SPDX-License-Identifier: Apache-2.0 */
/* secret/chain.h - which backends a store is made of, and their files */

#ifndef SECRET_CHAIN_H
#define SECRET_CHAIN_H

#include <stddef.h>

#include "secret/claim.h"
#include "secret/key.h"
#include "secret/name.h"

struct backend;
struct err;
struct loop;
struct place;
struct store_options;

enum { CHAIN_MAX = 3 };

/**
 * struct chain - The backends from best to last, and all that they refer to
 * @top:	All of them as one; owns them
 * @leaf:	Each alone; @count of them
 * @place:	Directory of the files
 * @state:	Directory of the notes on what was seen
 * @full:	The service as the platform's stores call it
 * @plain:	Name of the plaintext file, and so on
 * @claim:	Between one backend and the next
 */
struct chain {
	struct backend *top, *leaf[CHAIN_MAX];
	size_t count;
	struct place *place, *state;
	char full[SERVICE_SIZE], account[ACCOUNT_SIZE];
	char *plain, *sealed, *lock;
	struct claim_file claim[CHAIN_MAX];
	char *claim_name[CHAIN_MAX];
	char *passphrase_file, *key_file, *keyring, *service;
};

/* 0, or a negative errno with nothing left to free */
int chain_init(struct chain *chain, struct loop *loop,
	       const struct store_options *options, struct err *err);
void chain_done(struct chain *chain);

#endif /* SECRET_CHAIN_H */
