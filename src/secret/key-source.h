/* SPDX-License-Identifier: Apache-2.0 */
/* secret/key.h - where the key of the encrypted file comes from */

#ifndef SECRET_KEY_H
#define SECRET_KEY_H

#include <stdbool.h>

struct bytes;
struct err;

enum {
	PASSPHRASE_MAX = 1024,
	KEY_FILE_MIN = 16, KEY_FILE_MAX = 4096,
};

/* How the key was made of it; part of the file's format */
enum key_kind {
	KEY_PASSPHRASE = 1,	/* Words: stretched with scrypt */
	KEY_RANDOM = 2,		/* Bytes with enough chance in them */
};

/* Ask a person. @fresh: for a new store, so ask twice. 0 or -errno. */
typedef int (*key_ask)(void *arg, bool fresh, struct bytes *ret,
		       struct err *err);

/**
 * struct key_source - The first that is not NULL counts
 * @passphrase_file:	Its first line
 * @key_file:		All of it
 * @keyring:		Description of a "user" key in the kernel's keyring
 * @ask:		Somebody to ask
 */
struct key_source {
	const char *passphrase_file, *key_file, *keyring;
	key_ask ask;
	void *ask_arg;
};

bool key_is_configured(const struct key_source *source);

/* Append the passphrase or the bytes to @ret. The kind, -ENOKEY if there is
 * no source, or another negative errno. *@loose is set if others may read it.
 */
int key_get(const struct key_source *source, bool fresh, struct bytes *ret,
	    bool *loose, struct err *err);

#endif /* SECRET_KEY_H */
