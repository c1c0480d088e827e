/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backend.h - a store, and the back ends that can keep its document
 *
 * secret/credential-store.h chooses the one that keeps a store.
 */

#ifndef SECRET_BACKEND_H
#define SECRET_BACKEND_H

#include "secret/secret-document.h"
#include "secret/key-source.h"
#include "secret/locked-memory.h"
#include "secret/secret-name.h"

struct err;
struct private_dir;
struct store;

/* Warnings that come with a success: bits of struct store */
enum {
	WARN_PLAINTEXT = 1 << 0,	/* Stored in plaintext */
	WARN_LEFTOVER = 1 << 1,		/* The old copy could not be removed */
	WARN_ROLLBACK = 1 << 2,		/* The file is older than one seen before */
	WARN_LOOSE_KEY = 1 << 3,	/* Others can read the key */
};

/**
 * struct backend - What a back end can do
 * @name:	As in --backend
 * @read:	The document: 1 with *@ret, which the caller releases, 0 if there
 *		is none, or a negative errno
 * @write:	Replace the document: 0 or a negative errno
 * @remove:	Remove the document: 1, 0 if there was none, or a negative errno
 *
 * -ENOTSUP means that the back end does not work on this machine.
 */
struct backend {
	const char *name;
	int (*read)(struct store *s, json_t **ret, struct err *err);
	int (*write)(struct store *s, const struct bytes *text, struct err *err);
	int (*remove)(struct store *s, struct err *err);
};

extern const struct backend backend_keyring, backend_file, backend_plaintext;

/**
 * struct store - Whose document, and all that its back ends need
 * @backends:	The best first; ended by NULL
 * @forced:	The one that the user named, or NULL
 * @dir:	Directory of the files
 * @seen:	Directory of the generations that were seen; NULL for none
 * @service:	As the user calls it
 * @files:	Beginning of the names of its files
 * @entry:	The service as the keyring calls it
 * @key:	Where the key of the encrypted file comes from
 * @master:	Of the encrypted file, once it is known, with @master_salt
 * @loose_key:	Others can read the file that it came from
 * @helper:	Path of cloche-secret-service; NULL: beside this program, or where
 *		it was installed
 * @helper_ms:	Longest run of that; after one that took longer it is not run again
 * @slow:	Called when a run takes longer than a moment; or NULL
 * @lock_ms:	Longest wait for another writer
 * @warnings:	WARN_* of what was done so far
 */
struct store {
	const struct backend *const *backends;
	const struct backend *forced;
	struct private_dir *dir, *seen;
	char *service, *files;
	char entry[SERVICE_SIZE];
	struct key_source key;
	struct bytes master;
	unsigned char master_salt[32];
	bool loose_key;
	const char *helper;
	unsigned int helper_ms, lock_ms;
	bool helper_hangs;
	void (*slow)(void);
	unsigned int warnings;
};

#endif /* SECRET_BACKEND_H */
