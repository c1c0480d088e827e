/* SPDX-License-Identifier: Apache-2.0 */
/* secret/crypt.c - the encrypted document: format, seal, open */

#include "secret/crypt.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"
#include "secret/key.h"
#include "base/sha256.h"

enum {
	AT_KIND = 8, AT_CIPHER = 9, AT_LOG_N = 10, AT_R = 11, AT_P = 12,
	AT_GENERATION = 16, AT_SALT = 24, AT_SEED = 56, AT_CHECK = 88,
	AT_LENGTH = 104,
	KEY = 32, NONCE = 12, SEED = 32, CHECK = 16,
	AES_256_GCM = 1,
};

static const char magic[8] = { 'C', 'L', 'O', 'C', 'H', 'E', 'V', '1' };

static void put_number(unsigned char *p, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_number(const unsigned char *p, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}

static int broken(struct err *err)
{
	return fail(err, -EIO, "the cryptographic library failed");
}

static int random_bytes(void *p, size_t n, struct err *err)
{
	if (getrandom(p, n, 0) != (ssize_t)n)
		return fail_errno(err, "there is no randomness");
	return 0;
}

int crypt_salt(unsigned char ret[static CRYPT_SALT], struct err *err)
{
	return random_bytes(ret, CRYPT_SALT, err);
}

int crypt_info(const void *file, size_t n, struct crypt_info *ret,
	       struct err *err)
{
	const unsigned char *h = file;

	if (n < CRYPT_HEADER + CRYPT_TAG ||
	    memcmp(h, magic, sizeof(magic)) != 0)
		return fail(err, -EBADMSG, "not an encrypted store");
	if (get_number(h + AT_LENGTH, 4) != n - CRYPT_HEADER - CRYPT_TAG)
		return fail(err, -EBADMSG, "truncated, or damaged");
	if (h[AT_CIPHER] != AES_256_GCM ||
	    (h[AT_KIND] != KEY_PASSPHRASE && h[AT_KIND] != KEY_RANDOM))
		return fail(err, -EBADMSG, "made by a newer version, or damaged");
	/* A stranger's file must not make us spend hours and gigabytes */
	if (h[AT_LOG_N] < CRYPT_LOG_N_MIN || h[AT_LOG_N] > CRYPT_LOG_N_MAX ||
	    h[AT_R] != CRYPT_R || h[AT_P] != CRYPT_P)
		return fail(err, -EBADMSG, "asks for a strange scrypt cost");
	*ret = (struct crypt_info){
		.kind = h[AT_KIND],
		.log_n = h[AT_LOG_N],
		.generation = get_number(h + AT_GENERATION, 8),
	};
	memcpy(ret->salt, h + AT_SALT, CRYPT_SALT);
	return 0;
}

static int derive(const char *algorithm, const OSSL_PARAM *params,
		  unsigned char *out, size_t n)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, algorithm, NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	const int ok = ctx && EVP_KDF_derive(ctx, out, n, params) == 1;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return ok ? 0 : -EIO;
}

/* OSSL_PARAM wants pointers to what it will not change */
static void *param_data(const void *p)
{
	return (void *)(uintptr_t)p;
}

static int hkdf(const void *key, size_t key_n, const void *salt, size_t salt_n,
		const char *info, unsigned char *out, size_t n)
{
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
						 param_data("SHA256"), 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
						  param_data(key), key_n),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT,
						  param_data(salt), salt_n),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO,
						  param_data(info),
						  strlen(info)),
		OSSL_PARAM_construct_end(),
	};

	return derive("HKDF", params, out, n);
}

static unsigned char *hashed(const struct bytes *words, struct bytes *room)
{
	bytes_reserve(room, SHA256_BYTES);
	sha256(words->p, words->len, (unsigned char *)room->p);
	return (unsigned char *)room->p;
}

static int scrypt(const struct bytes *words, const struct crypt_info *info,
		  unsigned char *out, size_t n)
{
	auto_bytes struct bytes sum = { 0 };
	uint64_t cost = 1ULL << info->log_n;
	uint64_t memory = cost * 128 * CRYPT_R + (1 << 20);
	uint32_t r = CRYPT_R, p = CRYPT_P;
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD,
						  hashed(words, &sum),
						  SHA256_BYTES),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT,
						  param_data(info->salt),
						  CRYPT_SALT),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &cost),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM,
					    &memory),
		OSSL_PARAM_construct_end(),
	};

	return derive("SCRYPT", params, out, n);
}

int crypt_master(const struct crypt_info *info, const struct bytes *material,
		 struct bytes *ret, struct err *err)
{
	unsigned char *out;
	int r;

	bytes_clear(ret);
	bytes_reserve(ret, KEY);
	out = (unsigned char *)ret->p;
	r = info->kind == KEY_PASSPHRASE ?
		scrypt(material, info, out, KEY) :
		hkdf(material->p, material->len, info->salt, CRYPT_SALT,
		     "cloche store 1 master", out, KEY);
	if (r < 0)
		return broken(err);
	ret->len = KEY;
	return 0;
}

static int make_check(const struct bytes *master, const unsigned char *salt,
		      unsigned char ret[static CHECK])
{
	return hkdf(master->p, master->len, salt, CRYPT_SALT,
		    "cloche store 1 check", ret, CHECK);
}

/**
 * struct sealer - One run of the cipher
 * @ctx:	NULL where it could not be set up
 */
struct sealer {
	EVP_CIPHER_CTX *ctx;
};

static void sealer_done(struct sealer *s)
{
	EVP_CIPHER_CTX_free(s->ctx);	/* Wipes what it knew */
}

/* Key, nonce and associated data: the service's name, a NUL, the header */
static int sealer_init(struct sealer *s, const struct bytes *master,
		       const char *service, const unsigned char *header,
		       int encrypt)
{
	auto_bytes struct bytes own = { 0 };
	int n;

	bytes_reserve(&own, KEY + NONCE);
	if (hkdf(master->p, master->len, header + AT_SEED, SEED,
		 "cloche store 1 key", (unsigned char *)own.p, KEY + NONCE) < 0)
		return -EIO;
	s->ctx = EVP_CIPHER_CTX_new();
	if (!s->ctx ||
	    EVP_CipherInit_ex(s->ctx, EVP_aes_256_gcm(), NULL,
			      (unsigned char *)own.p,
			      (unsigned char *)own.p + KEY, encrypt) != 1 ||
	    EVP_CipherUpdate(s->ctx, NULL, &n,
			     (const unsigned char *)service,
			     (int)strlen(service) + 1) != 1 ||
	    EVP_CipherUpdate(s->ctx, NULL, &n, header, CRYPT_HEADER) != 1)
		return -EIO;
	return 0;
}

static int make_header(const struct crypt_info *info,
		       const struct bytes *master, size_t n,
		       unsigned char *h, struct err *err)
{
	memcpy(h, magic, sizeof(magic));
	h[AT_KIND] = (unsigned char)info->kind;
	h[AT_CIPHER] = AES_256_GCM;
	h[AT_LOG_N] = (unsigned char)info->log_n;
	h[AT_R] = CRYPT_R;
	h[AT_P] = CRYPT_P;
	put_number(h + AT_GENERATION, info->generation, 8);
	memcpy(h + AT_SALT, info->salt, CRYPT_SALT);
	put_number(h + AT_LENGTH, n, 4);
	if (make_check(master, info->salt, h + AT_CHECK) < 0)
		return broken(err);
	return random_bytes(h + AT_SEED, SEED, err);
}

int crypt_seal(const struct crypt_info *info, const struct bytes *master,
	       const char *service, const struct bytes *plain,
	       struct bytes *ret, struct err *err)
{
	__attribute__((cleanup(sealer_done))) struct sealer s = { 0 };
	auto_bytes struct bytes file = { 0 };
	unsigned char *p;
	int n, r;

	bytes_reserve(&file, CRYPT_HEADER + plain->len + CRYPT_TAG);
	p = (unsigned char *)file.p;
	memset(p, 0, CRYPT_HEADER);
	r = make_header(info, master, plain->len, p, err);
	if (r < 0)
		return r;
	if (sealer_init(&s, master, service, p, 1) < 0 ||
	    EVP_CipherUpdate(s.ctx, p + CRYPT_HEADER, &n,
			     (const unsigned char *)plain->p,
			     (int)plain->len) != 1 ||
	    EVP_CipherFinal_ex(s.ctx, p + CRYPT_HEADER + n, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(s.ctx, EVP_CTRL_AEAD_GET_TAG, CRYPT_TAG,
				p + CRYPT_HEADER + plain->len) != 1)
		return broken(err);
	file.len = CRYPT_HEADER + plain->len + CRYPT_TAG;
	bytes_move(ret, &file);
	return 0;
}

int crypt_open(const struct bytes *master, const char *service,
	       const void *file, size_t n, struct bytes *ret, struct err *err)
{
	__attribute__((cleanup(sealer_done))) struct sealer s = { 0 };
	auto_bytes struct bytes plain = { 0 };
	const unsigned char *h = file;
	const size_t length = n - CRYPT_HEADER - CRYPT_TAG;
	unsigned char check[CHECK], tag[CRYPT_TAG];
	struct crypt_info info;
	int done, r = crypt_info(file, n, &info, err);

	if (r < 0)
		return r;
	if (make_check(master, info.salt, check) < 0)
		return broken(err);
	if (!bytes_same(check, CHECK, h + AT_CHECK, CHECK))
		return fail(err, -EKEYREJECTED, info.kind == KEY_PASSPHRASE ?
			    "wrong passphrase" : "wrong key");
	bytes_reserve(&plain, length);
	memcpy(tag, h + CRYPT_HEADER + length, CRYPT_TAG);
	if (sealer_init(&s, master, service, h, 0) < 0)
		return broken(err);
	if (EVP_CipherUpdate(s.ctx, (unsigned char *)plain.p, &done,
			     h + CRYPT_HEADER, (int)length) != 1 ||
	    EVP_CIPHER_CTX_ctrl(s.ctx, EVP_CTRL_AEAD_SET_TAG, CRYPT_TAG,
				tag) != 1 ||
	    EVP_CipherFinal_ex(s.ctx, (unsigned char *)plain.p + done,
			       &done) != 1)
		return fail(err, -EBADMSG,
			    "it was changed by somebody without the key, or belongs to another service");
	plain.len = length;
	plain.p[length] = '\0';
	bytes_move(ret, &plain);
	return 0;
}
