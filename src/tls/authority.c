/* SPDX-License-Identifier: Apache-2.0 */
/* tls/authority.c - certificates for bound hosts, from an authority of one run */

#include "tls/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/bound-secret.h"

enum {
	BEFORE_S = 3600, /* Clocks inside may be behind */
	AFTER_S = 24 * 3600,
};

struct leaf {
	char *host;
	SSL_CTX *context;
};

/**
 * struct authority - The authority of one run
 * @key, @cert:	Its own
 * @leaf_key:	Shared by all certificates: one more takes 0.3 ms then
 */
struct authority {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	struct {
		struct leaf *v;
		size_t len, cap;
	} leaves;
};

static int fail_ssl(struct err *err, const char *what)
{
	char text[120] = "unknown error";
	const unsigned long code = ERR_get_error();

	if (code)
		ERR_error_string_n(code, text, sizeof(text));
	ERR_clear_error();
	return fail(err, -EIO, "%s: %s", what, text);
}

static X509 *new_cert(EVP_PKEY *key, const char *name, X509 *issuer)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
	uint64_t serial;

	if (subject && X509_set_version(cert, X509_VERSION_3) &&
	    RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1 &&
	    ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1 | 1) == 1 &&
	    X509_gmtime_adj(X509_getm_notBefore(cert), -BEFORE_S) &&
	    X509_gmtime_adj(X509_getm_notAfter(cert), AFTER_S) &&
	    X509_set_pubkey(cert, key) &&
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
				       (const unsigned char *)name, -1, -1,
				       0) &&
	    X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer)
					      : subject))
		return cert;
	X509_free(cert);
	return NULL;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool ok;

	X509V3_set_ctx(&context, issuer ? issuer : cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return ok;
}

/* "*.example.org" is constrained to example.org, which names below it are part of;
 * host patterns may have a port as well
 */
static void write_constraints(const struct bound_secrets *secrets,
			      struct buf *out)
{
	buf_adds(out, "critical");
	for (size_t i = 0; i < secrets->len; i++) {
		for (size_t k = 0; k < secrets->v[i].n_hosts; k++) {
			const char *host = secrets->v[i].hosts[k];

			if (!strncmp(host, "*.", 2))
				host += 2;
			buf_adds(out, ",permitted;DNS:");
			buf_add(out, host, strcspn(host, ":"));
		}
	}
}

static int make_cert(const struct bound_secrets *secrets, struct authority *a,
		     struct err *err)
{
	auto_buf struct buf constraints = { 0 };

	write_constraints(secrets, &constraints);
	a->cert = new_cert(a->key, "cloche, this run only", NULL);
	if (!a->cert ||
	    !add_extension(a->cert, NULL, NID_basic_constraints,
			   "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(a->cert, NULL, NID_key_usage,
			   "critical,keyCertSign") ||
	    !add_extension(a->cert, NULL, NID_subject_key_identifier, "hash") ||
	    !add_extension(a->cert, NULL, NID_name_constraints,
			   buf_str(&constraints)) ||
	    !X509_sign(a->cert, a->key, EVP_sha256()))
		return fail_ssl(err,
				"cannot make the run's certificate authority");
	return 0;
}

int authority_new(const struct bound_secrets *secrets, struct authority **ret,
		  struct err *err)
{
	struct authority *a = mem_zalloc(sizeof(*a));
	int r = 0;

	a->key = EVP_EC_gen("P-256");
	a->leaf_key = EVP_EC_gen("P-256");
	if (!a->key || !a->leaf_key)
		r = fail_ssl(err, "cannot make a P-256 key");
	if (!r)
		r = make_cert(secrets, a, err);
	if (r < 0)
		authority_free(a);
	else
		*ret = a;
	return r;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->leaves.len; i++) {
		free(a->leaves.v[i].host);
		SSL_CTX_free(a->leaves.v[i].context);
	}
	free(a->leaves.v);
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	EVP_PKEY_free(a->leaf_key);
	free(a);
}

int authority_write(const struct authority *a, struct buf *out, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long n;

	if (!bio || !PEM_write_bio_X509(bio, a->cert)) {
		BIO_free(bio);
		return fail_ssl(err, "cannot write the certificate");
	}
	n = BIO_get_mem_data(bio, &text);
	buf_add(out, text, (size_t)n);
	BIO_free(bio);
	return 0;
}

/* Java's key store. The format is JKS, which every Java reads: magic number, version, number
 * of entries, the entries, and a digest of all that with a password. An entry has a tag, an
 * alias, a time, the type of the certificate and its bytes. Numbers are big-endian.
 */
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

void authority_write_java(const struct authority *a, struct buf *ret)
{
	const int len = i2d_X509(a->cert, NULL);
	uint8_t digest[DIGEST], *der = NULL;
	uint32_t count = 1;

	if (!read_store("/etc/ssl/certs/java/cacerts", ret) ||
	    i2d_X509(a->cert, &der) < 0) {
		buf_done(ret);
		return;
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
}

static X509 *make_leaf(struct authority *a, const char *host)
{
	/* A common name has 64 characters at most; clients read the other one */
	X509 *cert = new_cert(a->leaf_key,
			      strlen(host) > 64 ? "bound host" : host, a->cert);
	auto_buf struct buf name = { 0 };

	buf_addf(&name, "DNS:%s", host);
	if (cert &&
	    add_extension(cert, a->cert, NID_basic_constraints,
			  "critical,CA:FALSE") &&
	    add_extension(cert, a->cert, NID_key_usage,
			  "critical,digitalSignature") &&
	    add_extension(cert, a->cert, NID_ext_key_usage, "serverAuth") &&
	    add_extension(cert, a->cert, NID_subject_alt_name, name.p) &&
	    add_extension(cert, a->cert, NID_authority_key_identifier,
			  "keyid:always") &&
	    X509_sign(cert, a->key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

static SSL_CTX *make_context(struct authority *a, X509 *leaf)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) ||
	    SSL_CTX_use_certificate(c, leaf) != 1 ||
	    SSL_CTX_use_PrivateKey(c, a->leaf_key) != 1 ||
	    SSL_CTX_add1_chain_cert(c, a->cert) != 1) {
		SSL_CTX_free(c);
		return NULL;
	}
	/* A client may close its side without a word of TLS and wait for the answer */
	SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
				       SSL_OP_NO_COMPRESSION |
				       SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(c, 0);
	SSL_CTX_set_max_early_data(c, 0);
	SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE |
				    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				    SSL_MODE_RELEASE_BUFFERS);
	return c;
}

SSL_CTX *authority_context(struct authority *a, const char *host,
			   struct err *err)
{
	struct leaf *leaf;
	SSL_CTX *context;
	X509 *cert;

	for (size_t i = 0; i < a->leaves.len; i++) {
		if (!strcmp(a->leaves.v[i].host, host))
			return a->leaves.v[i].context;
	}
	cert = make_leaf(a, host);
	context = cert ? make_context(a, cert) : NULL;
	X509_free(cert);
	if (!context) {
		(void)fail_ssl(err, "cannot make a certificate");
		return NULL;
	}
	/* A wildcard binding has any number of hosts */
	if (a->leaves.len == AUTHORITY_LEAVES_MAX) {
		free(a->leaves.v[0].host);
		SSL_CTX_free(a->leaves.v[0].context);
		memmove(a->leaves.v, a->leaves.v + 1,
			--a->leaves.len * sizeof(*a->leaves.v));
	}
	leaf = vec_push(&a->leaves);
	leaf->host = mem_strdup(host);
	leaf->context = context;
	return context;
}
