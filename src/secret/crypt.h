/* SPDX-License-Identifier: Apache-2.0 */
/* secret/crypt.h - the encrypted document: format, seal, open
 *
 * A file is a header, the AES-256-GCM ciphertext and its tag. All numbers are
 * little-endian. The header and the service's name are authenticated: a file
 * of another service, another version or another generation does not open.
 *
 *   0  magic "CLOCHEV1"		     16  generation (64 bits)
 *   8  kind of key (enum key_kind)	     24  salt of the master key
 *   9  cipher (1)			     56  seed of this file's own key
 *  10  scrypt log2(N), r, p; 3 zero bytes   88  check of the master key
 *					    104  length (32 bits), 4 zero bytes
 *
 * master = scrypt(SHA-256(passphrase), salt), or HKDF(key bytes, salt): the
 * library makes copies in its own heap, and gets no passphrase to copy. Every
 * write has its own random seed, and HKDF(master, seed) gives it a key and a
 * nonce of its own: there is no nonce to repeat, however many writes there are.
 */

#ifndef SECRET_CRYPT_H
#define SECRET_CRYPT_H

#include <stddef.h>
#include <stdint.h>

#include "secret/bytes.h"

struct err;

enum {
	CRYPT_SALT = 32,
	CRYPT_HEADER = 112,
	CRYPT_TAG = 16,
	CRYPT_LOG_N = 17,		/* What new files are made with */
	CRYPT_LOG_N_MIN = 14, CRYPT_LOG_N_MAX = 20,
	CRYPT_R = 8, CRYPT_P = 1,
};

/**
 * struct crypt_info - What the header says
 */
struct crypt_info {
	int kind;
	unsigned int log_n;
	uint64_t generation;
	unsigned char salt[CRYPT_SALT];
};

/* 0, or -EBADMSG for what is no such file or is truncated */
int crypt_info(const void *file, size_t n, struct crypt_info *ret,
	       struct err *err);

/* Derive the master key from @material (its kind, salt and cost from @info) */
int crypt_master(const struct crypt_info *info, const struct bytes *material,
		 struct bytes *ret, struct err *err);

/* A fresh random salt. 0 or a negative errno. */
int crypt_salt(unsigned char ret[static CRYPT_SALT], struct err *err);

/* Put the file for @plain into @ret. 0 or a negative errno. */
int crypt_seal(const struct crypt_info *info, const struct bytes *master,
	       const char *service, const struct bytes *plain,
	       struct bytes *ret, struct err *err);

/* Put the document of @file into @ret. 0, -EKEYREJECTED if @master is not its
 * key, -EBADMSG if it was changed, or another negative errno.
 */
int crypt_open(const struct bytes *master, const char *service,
	       const void *file, size_t n, struct bytes *ret,
	       struct err *err);

#endif /* SECRET_CRYPT_H */
