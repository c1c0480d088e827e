/* SPDX-License-Identifier: Apache-2.0 */
/* tls/java-store.c - the system's authorities as Java has them, and one more
 *
 * The format is JKS, which every Java reads: magic number, version, number of entries,
 * those, and a digest of all that with a password. An entry has a tag, an alias, a time,
 * the type of the certificate and its bytes. Numbers are big-endian.
 */

#include "tls/java-store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"

enum {
	STORE_MAX = 4 << 20, /* Bytes */
	HEAD = 12, /* Bytes before the entries */
	DIGEST = 20,
};

/* A certificate that is trusted, "cloche", of 1970 */
static const char entry[] = "\0\0\0\2\0\6cloche\0\0\0\0\0\0\0\0\0\5X.509";

/* Of @n bytes at @p, with the password that no Java is without */
static bool digest_of(const char *p, size_t n, uint8_t ret[DIGEST])
{
	static const char password[] = "\0c\0h\0a\0n\0g\0e\0i\0t";
	static const char salt[] = "Mighty Aphrodite";
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	const bool ok = c && EVP_DigestInit(c, EVP_sha1()) &&
			EVP_DigestUpdate(c, password, sizeof(password) - 1) &&
			EVP_DigestUpdate(c, salt, sizeof(salt) - 1) &&
			EVP_DigestUpdate(c, p, n) &&
			EVP_DigestFinal(c, ret, NULL);

	EVP_MD_CTX_free(c);
	return ok;
}

/* Without its digest; false if it is not one that we can add to */
static bool read_store(const char *path, struct buf *ret)
{
	static const char head[] = "\xfe\xed\xfe\xed\0\0\0\2\0\0";
	uint8_t digest[DIGEST];

	if (fs_read(AT_FDCWD, path, STORE_MAX, ret, NULL) < 0 ||
	    ret->len < HEAD + DIGEST || memcmp(ret->p, head, 10) != 0)
		return false;
	ret->len -= DIGEST;
	return digest_of(ret->p, ret->len, digest) &&
	       !memcmp(digest, ret->p + ret->len, DIGEST);
}

bool java_store_make(const char *path, X509 *cert, struct buf *ret)
{
	const int len = i2d_X509(cert, NULL);
	uint8_t digest[DIGEST], *der = NULL;
	uint32_t count = 1;

	if (!read_store(path, ret) || i2d_X509(cert, &der) < 0) {
		buf_done(ret);
		return false;
	}
	count += (uint32_t)(uint8_t)ret->p[10] << 8 | (uint8_t)ret->p[11];
	ret->p[10] = (char)(count >> 8);
	ret->p[11] = (char)count;
	buf_add(ret, entry, sizeof(entry) - 1);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(ret, (char)(len >> shift));
	buf_add(ret, der, (size_t)len);
	OPENSSL_free(der);
	if (digest_of(ret->p, ret->len, digest))
		buf_add(ret, digest, DIGEST);
	else
		buf_done(ret);
	return ret->len;
}
