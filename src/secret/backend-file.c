/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/backend-file.c - the encrypted file, and the one in plaintext: the last resort
 *
 * An encrypted file is a header, the AES-256-GCM ciphertext and its tag. Numbers are
 * little-endian. The header and the service's name are authenticated: a file of
 * another service, another version or another generation does not open.
 *
 *   0  magic "CLOCHEV2"		     16  generation (64 bits)
 *   8  kind of key (enum key_kind)	     24  salt of the master key
 *   9  scrypt log2(N); 6 zero bytes	     56  seed of this file's own key
 *					     88  check of the master key
 *
 * master = scrypt(SHA-256(passphrase), salt), or HMAC-SHA256(salt, key bytes).
 * OpenSSL copies what it derives from, so it gets a hash of the passphrase. Every
 * write has a random seed and so a key of its own, HMAC-SHA256(master, seed);
 * that key encrypts one message, and its nonce is zero.
 *
 * Every write counts the generation up by one and notes it in another directory.
 * A file older than the note is authentic, but was put back: the user is warned.
 * The note is read before the file, so that a writer in between can only make the
 * file newer.
 */

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "secret/backend.h"
#include "secret/private-dir.h"

enum {
	AT_KIND = 8, AT_LOG_N = 9, AT_GENERATION = 16,
	AT_SALT = 24, AT_SEED = 56, AT_CHECK = 88, HEADER = 104,
	KEY = 32, SALT = 32, SEED = 32, CHECK = 16, NONCE = 12, TAG = 16,
	LOG_N = 17, LOG_N_MIN = 14, LOG_N_MAX = 20, R = 8, P = 1,
	FILE_MAX = HEADER + DOCUMENT_MAX + TAG,
};

_Static_assert(sizeof(((struct store *)0)->master_salt) == SALT, "salt");

static const char magic[8] = { 'C', 'L', 'O', 'C', 'H', 'E', 'V', '2' };

/* @suffix: ".enc", or ".json" in plaintext */
static char *file_name(const struct store *s, const char *suffix)
{
	return mem_printf("%s%s", s->files, suffix);
}

static int remove_file(struct store *s, const char *suffix, struct err *err)
{
	auto_free char *name = file_name(s, suffix);

	return private_dir_remove(s->dir, name, err);
}

static int in_file(const struct store *s, int r, struct err *err)
{
	return fail_in(err, r, "%s/%s.enc", s->dir->path, s->files);
}

static int crypto_failed(struct err *err)
{
	return fail(err, -EIO, "the cryptographic library failed");
}

static uint64_t get_generation(const unsigned char *header)
{
	uint64_t value;

	memcpy(&value, header + AT_GENERATION, sizeof(value));
	return le64toh(value);
}

static void put_generation(unsigned char *header, uint64_t value)
{
	value = htole64(value);
	memcpy(header + AT_GENERATION, &value, sizeof(value));
}

static uint64_t seen_generation(struct store *s)
{
	auto_free char *name = mem_printf("%s.enc.generation", s->files);
	auto_bytes struct bytes text = { 0 };
	uint64_t seen = 0;

	if (s->seen && private_dir_read(s->seen, name, 32, &text, NULL) == 1)
		(void)text_to_u64(bytes_str(&text), UINT64_MAX, &seen);
	return seen;
}

/* A note that cannot be written costs a warning later, and nothing else */
static void note_generation(struct store *s, uint64_t generation)
{
	auto_free char *name = mem_printf("%s.enc.generation", s->files);
	char text[24];
	const int n = snprintf(text, sizeof(text), "%" PRIu64, generation);

	if (s->seen)
		(void)private_dir_write(s->seen, name, text, (size_t)n, NULL);
}

static int check_header(const struct bytes *file, struct err *err)
{
	const unsigned char *h = (const unsigned char *)file->p;

	if (file->len < HEADER + TAG || memcmp(h, magic, sizeof(magic)) != 0)
		return fail(err, -EBADMSG, "not an encrypted store");
	if (h[AT_KIND] != KEY_PASSPHRASE && h[AT_KIND] != KEY_RANDOM)
		return fail(err, -EBADMSG, "made by a newer version, or damaged");
	/* The file must not be able to ask for hours and gigabytes */
	if (h[AT_LOG_N] < LOG_N_MIN || h[AT_LOG_N] > LOG_N_MAX)
		return fail(err, -EBADMSG, "unsupported scrypt cost");
	return 0;
}

/* HMAC-SHA256 of @label and @n bytes of @data */
static int derive(const void *key, size_t key_n, const char *label,
		  const void *data, size_t n, unsigned char ret[static KEY])
{
	auto_bytes struct bytes message = { 0 };

	bytes_adds(&message, label);
	bytes_add(&message, data, n);
	return HMAC(EVP_sha256(), key, (int)key_n,
		    (const unsigned char *)message.p, message.len, ret,
		    NULL) ? 0 : -EIO;
}

static int stretch(const struct bytes *passphrase, const unsigned char *h,
		   unsigned char ret[static KEY])
{
	const uint64_t cost = 1ULL << h[AT_LOG_N];
	auto_bytes struct bytes hash = { 0 };

	bytes_reserve(&hash, SHA256_DIGEST_LENGTH);
	(void)SHA256((const unsigned char *)passphrase->p, passphrase->len,
		     (unsigned char *)hash.p);
	return EVP_PBE_scrypt(hash.p, SHA256_DIGEST_LENGTH, h + AT_SALT, SALT,
			      cost, R, P, cost * 128 * R + (1 << 20), ret,
			      KEY) == 1 ? 0 : -EIO;
}

/* Derive the master key for the header @h. A new file has no kind of key yet and gets
 * that of the source.
 */
static int need_master(struct store *s, unsigned char *h, struct err *err)
{
	auto_bytes struct bytes material = { 0 };
	int kind, r;

	if (s->master.len && !memcmp(s->master_salt, h + AT_SALT, SALT))
		return 0;
	if (h[AT_KIND] == KEY_RANDOM && !key_is_configured(&s->key))
		return fail(err, -ENOKEY,
			    "the encrypted store needs its key: use --key-file, CLOCHE_KEY_FILE or --keyring");
	kind = key_get(&s->key, !h[AT_KIND], &material, &s->loose_key,
		       err);
	if (kind < 0)
		return kind;
	if (h[AT_KIND] && h[AT_KIND] != kind)
		return fail(err, -EKEYREJECTED, h[AT_KIND] == KEY_PASSPHRASE ?
			    "it opens with a passphrase, not with a key" :
			    "it opens with a key, not with a passphrase");
	h[AT_KIND] = (unsigned char)kind;
	bytes_reserve(&s->master, KEY);
	r = kind == KEY_PASSPHRASE ?
		stretch(&material, h, (unsigned char *)s->master.p) :
		derive(h + AT_SALT, SALT, "", material.p, material.len,
		       (unsigned char *)s->master.p);
	if (r < 0)
		return crypto_failed(err);
	s->master.len = KEY;
	memcpy(s->master_salt, h + AT_SALT, SALT);
	return 0;
}

static int make_check(const struct store *s, const unsigned char *h,
		      unsigned char ret[static KEY])
{
	return derive(s->master.p, KEY, "cloche check", h + AT_SALT, SALT, ret);
}

/* Encrypt or decrypt @n bytes, all but the tag; the caller frees the context */
static int run_cipher(const struct store *s, EVP_CIPHER_CTX *ctx,
		      const unsigned char *h, bool encrypt,
		      const unsigned char *from, unsigned char *to, size_t n)
{
	static const unsigned char nonce[NONCE];
	auto_bytes struct bytes key = { 0 };
	int done;

	bytes_reserve(&key, KEY);
	if (!ctx || derive(s->master.p, KEY, "cloche key", h + AT_SEED, SEED,
			   (unsigned char *)key.p) < 0 ||
	    EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL,
			      (unsigned char *)key.p, nonce, encrypt) != 1 ||
	    EVP_CipherUpdate(ctx, NULL, &done,
			     (const unsigned char *)s->service,
			     (int)strlen(s->service) + 1) != 1 ||
	    EVP_CipherUpdate(ctx, NULL, &done, h, HEADER) != 1 ||
	    EVP_CipherUpdate(ctx, to, &done, from, (int)n) != 1)
		return -EIO;
	return 0;
}

/* Decrypt the whole @file to @ret: 0, -EKEYREJECTED, -EBADMSG, ... */
static int decrypt(struct store *s, const struct bytes *file,
		   struct bytes *ret, struct err *err)
{
	unsigned char *h = (unsigned char *)file->p, check[KEY], tag[TAG];
	const size_t n = file->len - HEADER - TAG;
	EVP_CIPHER_CTX *ctx;
	int done, r;

	if (make_check(s, h, check) < 0)
		return crypto_failed(err);
	if (CRYPTO_memcmp(check, h + AT_CHECK, CHECK) != 0) {
		bytes_done(&s->master);
		return fail(err, -EKEYREJECTED, h[AT_KIND] == KEY_PASSPHRASE ?
			    "wrong passphrase" : "wrong key");
	}
	bytes_reserve(ret, n);
	memcpy(tag, h + HEADER + n, TAG);
	ctx = EVP_CIPHER_CTX_new();
	r = run_cipher(s, ctx, h, false, h + HEADER, (unsigned char *)ret->p, n);
	if (!r && (EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG,
				       tag) != 1 ||
		   EVP_CipherFinal_ex(ctx, (unsigned char *)ret->p + n,
				      &done) != 1))
		r = -EBADMSG;
	EVP_CIPHER_CTX_free(ctx);	/* Wipes its key */
	if (r < 0) {
		bytes_done(ret);
		return r == -EIO ? crypto_failed(err) :
			fail(err, r,
			     "changed without the key, or the file of another service");
	}
	ret->len = n;
	ret->p[n] = '\0';
	return 0;
}

/* Read the file and decrypt it: 1 with both, 0 if there is none, or -errno */
static int load_file(struct store *s, struct bytes *file, struct bytes *text,
		struct err *err)
{
	auto_free char *name = file_name(s, ".enc");
	int r = private_dir_read(s->dir, name, FILE_MAX, file, err);

	if (r <= 0)
		return r;
	r = check_header(file, err);
	if (!r)
		r = need_master(s, (unsigned char *)file->p, err);
	if (!r)
		r = decrypt(s, file, text, err);
	return r < 0 ? in_file(s, r, err) : 1;
}

static int file_read(struct store *s, json_t **ret, struct err *err)
{
	const uint64_t seen = seen_generation(s);
	auto_bytes struct bytes file = { 0 }, text = { 0 };
	uint64_t generation;
	int r = load_file(s, &file, &text, err);

	if (r <= 0)
		return r;
	r = document_parse(bytes_str(&text), text.len, "its content", ret, err);
	if (r < 0)
		return in_file(s, r, err);
	generation = get_generation((unsigned char *)file.p);
	if (generation < seen)
		s->warnings |= WARN_ROLLBACK;
	else if (generation > seen)
		note_generation(s, generation);
	return 1;
}

/* The header of the next file: that of the present one, which the key must open,
 * or a fresh one
 */
static int next_header(struct store *s, unsigned char h[static HEADER],
		       struct err *err)
{
	auto_bytes struct bytes file = { 0 }, text = { 0 };
	int r = load_file(s, &file, &text, err);

	if (r < 0)
		return r;
	if (r) {
		memcpy(h, file.p, HEADER);
		return 0;
	}
	memcpy(h, magic, sizeof(magic));
	h[AT_LOG_N] = LOG_N;
	if (getrandom(h + AT_SALT, SALT, 0) != SALT)
		return fail_errno(err, "cannot get random bytes");
	r = need_master(s, h, err);
	/* There is no file and no key: another back end may keep the store */
	return r == -ENOKEY && !key_is_configured(&s->key) ?
		fail(err, -ENOTSUP, "%s", err->msg) : r;
}

static int encrypt(struct store *s, const unsigned char h[static HEADER],
		   const struct bytes *text, struct bytes *ret)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned char *p, check[KEY];
	int done, r = make_check(s, h, check);

	bytes_add(ret, h, HEADER);
	bytes_reserve(ret, HEADER + text->len + TAG);
	p = (unsigned char *)ret->p;
	memcpy(p + AT_CHECK, check, CHECK);
	if (getrandom(p + AT_SEED, SEED, 0) != SEED)
		r = -EIO;
	if (!r)
		r = run_cipher(s, ctx, p, true,
			       (const unsigned char *)text->p, p + HEADER,
			       text->len);
	if (!r && (EVP_CipherFinal_ex(ctx, p + HEADER + text->len, &done) != 1 ||
		   EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG,
				       p + HEADER + text->len) != 1))
		r = -EIO;
	EVP_CIPHER_CTX_free(ctx);
	ret->len = HEADER + text->len + TAG;
	return r;
}

static int file_write(struct store *s, const struct bytes *text,
		      struct err *err)
{
	auto_free char *name = file_name(s, ".enc");
	const uint64_t seen = seen_generation(s);
	unsigned char h[HEADER] = { 0 };
	auto_bytes struct bytes file = { 0 };
	uint64_t generation;
	int r = next_header(s, h, err);

	if (r < 0)
		return r;
	generation = get_generation(h);
	generation = (generation > seen ? generation : seen) + 1;
	put_generation(h, generation);
	r = encrypt(s, h, text, &file);
	if (r < 0)
		return crypto_failed(err);
	r = private_dir_write(s->dir, name, file.p, file.len, err);
	if (r < 0)
		return r;
	note_generation(s, generation);
	s->warnings |= s->loose_key ? WARN_LOOSE_KEY : 0;
	return 0;
}

static int file_remove(struct store *s, struct err *err)
{
	return remove_file(s, ".enc", err);
}

const struct backend backend_file = {
	"file", file_read, file_write, file_remove,
};

static int plaintext_read(struct store *s, json_t **ret, struct err *err)
{
	auto_free char *name = file_name(s, ".json");
	auto_free char *path = mem_printf("%s/%s", s->dir->path, name);
	auto_bytes struct bytes text = { 0 };
	int r = private_dir_read(s->dir, name, DOCUMENT_MAX, &text, err);

	if (r <= 0)
		return r;
	r = document_parse(bytes_str(&text), text.len, path, ret, err);
	return r < 0 ? r : 1;
}

static int plaintext_write(struct store *s, const struct bytes *text,
			   struct err *err)
{
	auto_free char *name = file_name(s, ".json");

	s->warnings |= WARN_PLAINTEXT;
	return private_dir_write(s->dir, name, text->p, text->len, err);
}

static int plaintext_remove(struct store *s, struct err *err)
{
	return remove_file(s, ".json", err);
}

const struct backend backend_plaintext = {
	"plaintext", plaintext_read, plaintext_write, plaintext_remove,
};
