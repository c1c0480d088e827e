/* SPDX-License-Identifier: Apache-2.0 */
/* secret/key-source.h - where the key of the encrypted file comes from */

#ifndef SECRET_KEY_SOURCE_H
#define SECRET_KEY_SOURCE_H

#include <stdbool.h>

struct bytes;
struct err;

enum {
	PASSPHRASE_MAX = 1024,
	KEY_FILE_MIN = 16, KEY_FILE_MAX = 4096,
};

/* How the key is made from it; part of the file's format */
enum key_kind {
	KEY_PASSPHRASE = 1,	/* Text: stretched with scrypt */
	KEY_RANDOM = 2,		/* Random bytes */
};

/**
 * struct key_source - The first that is not NULL counts
 * @passphrase_file:	Its first line
 * @key_file:		All of it
 * @keyring:		Description of a "user" key in the kernel's keyring
 * @ask:		Asks the user, with @fresh twice. 0 or a negative errno.
 * @may_make:		@ask may be used for a new store
 */
struct key_source {
	const char *passphrase_file, *key_file, *keyring;
	int (*ask)(bool fresh, struct bytes *ret, struct err *err);
	bool may_make;
};

bool key_is_configured(const struct key_source *source);

/* Append the passphrase or the bytes to @ret. The kind, -ENOKEY if there is
 * no source, or another negative errno. *@loose: others can read it. With @fresh it
 * is for a new store.
 */
int key_get(const struct key_source *source, bool fresh, struct bytes *ret,
	    bool *loose, struct err *err);

#endif /* SECRET_KEY_SOURCE_H */
