/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/proto/sni.c - the server name in a TLS ClientHello
 *
 * Theory of operation: the handshake bytes of the first records are put
 * together up to a bound, then read once with a cursor that can't leave its
 * part. Every length must fit exactly in the one around it, and what may come
 * once may come only once: a server that is more lenient than we are must not
 * find another name than we did.
 */

#include "gate/proto/sni.h"

#include <string.h>

enum {
	RECORD_HEADER = 5, RECORD_HANDSHAKE = 22, RECORD_MAX = 1 << 14,
	VERSION_MAJOR = 3,
	HANDSHAKE_HEADER = 4, CLIENT_HELLO = 1,
	RANDOM_LEN = 32, SESSION_MAX = 32,
	EXTENSION_SERVER_NAME = 0,
	NAME_TYPE_HOST = 0,
};

/**
 * struct cursor - Bytes still to be read; @bad once too many were wanted
 */
struct cursor {
	const uint8_t *p;
	size_t n;
	bool bad;
};

static struct cursor take(struct cursor *c, size_t n)
{
	struct cursor part = { c->p, n, c->bad || n > c->n };

	if (part.bad) {
		*c = (struct cursor){ .bad = true };
		return *c;
	}
	c->p += n;
	c->n -= n;
	return part;
}

static unsigned int take_number(struct cursor *c, size_t bytes)
{
	const struct cursor part = take(c, bytes);
	unsigned int value = 0;

	for (size_t i = 0; i < part.n; i++)
		value = value << 8 | part.p[i];
	return value;
}

/* A part with its length before it, in @bytes bytes */
static struct cursor take_part(struct cursor *c, size_t bytes)
{
	const unsigned int n = take_number(c, bytes);

	return take(c, n);
}

/* One name, of the only type there is, and nothing after it */
static bool server_name_parse(struct cursor extension, struct host *ret)
{
	struct cursor list = take_part(&extension, 2);
	const unsigned int type = take_number(&list, 1);
	const struct cursor name = take_part(&list, 2);

	return !name.bad && type == NAME_TYPE_HOST && !list.n &&
	       !extension.n &&
	       !host_parse((const char *)name.p, name.n, 0, ret);
}

static enum sni_result extensions_parse(struct cursor all, struct host *sni)
{
	enum sni_result result = SNI_NONE;

	while (all.n) {
		const unsigned int type = take_number(&all, 2);
		const struct cursor extension = take_part(&all, 2);

		if (extension.bad)
			return SNI_MALFORMED;
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (result == SNI_NAME ||
		    !server_name_parse(extension, sni))
			return SNI_MALFORMED;
		result = SNI_NAME;
	}
	return result;
}

static enum sni_result hello_parse(struct cursor hello, struct host *sni)
{
	const unsigned int major = take_number(&hello, 1);
	struct cursor part, extensions;

	(void)take_number(&hello, 1);
	(void)take(&hello, RANDOM_LEN);
	part = take_part(&hello, 1);
	if (part.bad || major != VERSION_MAJOR || part.n > SESSION_MAX)
		return SNI_MALFORMED;
	part = take_part(&hello, 2);	/* Cipher suites */
	if (part.bad || !part.n || part.n % 2)
		return SNI_MALFORMED;
	part = take_part(&hello, 1);	/* Compression */
	if (part.bad || !part.n)
		return SNI_MALFORMED;
	if (!hello.n)		/* Before TLS 1.2 they could be missing */
		return SNI_NONE;
	extensions = take_part(&hello, 2);
	if (extensions.bad || hello.n)
		return SNI_MALFORMED;
	return extensions_parse(extensions, sni);
}

/* Append the payload of the record at *@at, as far as it is there, and step
 * over it. SNI_NONE for a whole record, SNI_MORE for a part of one.
 */
static enum sni_result record_add(const uint8_t *p, size_t n, size_t *at,
				  uint8_t *out, size_t *out_n)
{
	const uint8_t *r = p + *at;
	const size_t left = n - *at;
	size_t len, have;

	if (left > 0 && r[0] != RECORD_HANDSHAKE)
		return *at ? SNI_MALFORMED : SNI_NOT_TLS;
	if (left > 1 && r[1] != VERSION_MAJOR)
		return SNI_MALFORMED;
	if (left < RECORD_HEADER)
		return SNI_MORE;
	len = (size_t)(r[3] << 8 | r[4]);
	if (!len || len > RECORD_MAX)
		return SNI_MALFORMED;
	have = left - RECORD_HEADER < len ? left - RECORD_HEADER : len;
	memcpy(out + *out_n, r + RECORD_HEADER, have);
	*out_n += have;
	*at += RECORD_HEADER + have;
	return have < len ? SNI_MORE : SNI_NONE;
}

/* SNI_NONE when all of the ClientHello, with its header, is in @out */
static enum sni_result hello_gather(const uint8_t *p, size_t n, uint8_t *out,
				    size_t *out_n)
{
	enum sni_result result = SNI_NONE;
	size_t at = 0, want = HANDSHAKE_HEADER;

	while (result == SNI_NONE && *out_n < want) {
		result = record_add(p, n, &at, out, out_n);
		if (*out_n && out[0] != CLIENT_HELLO)
			return SNI_MALFORMED;
		if (*out_n >= HANDSHAKE_HEADER)
			want = HANDSHAKE_HEADER +
			       ((size_t)out[1] << 16 | out[2] << 8 | out[3]);
		if (want > SNI_PEEK_MAX)
			return SNI_MALFORMED;
	}
	if (result == SNI_MORE && *out_n >= want)
		return SNI_MALFORMED;	/* More than a ClientHello is in it */
	if (result == SNI_NONE && *out_n != want)
		return SNI_MALFORMED;
	return result;
}

enum sni_result sni_parse(const uint8_t *p, size_t n, struct host *ret)
{
	uint8_t hello[SNI_PEEK_MAX];
	struct host sni = { 0 };
	enum sni_result result;
	size_t hello_n = 0;

	if (n > SNI_PEEK_MAX)
		n = SNI_PEEK_MAX;
	result = hello_gather(p, n, hello, &hello_n);
	if (result == SNI_MORE && n == SNI_PEEK_MAX)
		return SNI_MALFORMED;
	if (result != SNI_NONE)
		return result;
	result = hello_parse((struct cursor){
		hello + HANDSHAKE_HEADER, hello_n - HANDSHAKE_HEADER, false,
	}, &sni);
	if (result == SNI_NONE || result == SNI_NAME)
		*ret = sni;
	return result;
}

const char *sni_objection(enum sni_result result, const struct host *sni,
			  const struct host *host)
{
	switch (result) {
	case SNI_NOT_TLS:
		return NULL;
	case SNI_MORE:
		return "the TLS hello is incomplete";
	case SNI_MALFORMED:
		return "the TLS hello is malformed";
	case SNI_NONE:
		return host->kind == HOST_NAME ? "the TLS hello names no host"
					       : NULL;
	case SNI_NAME:
		return host_is_same(sni, host) ?
			NULL : "the TLS hello names another host";
	}
	return "the TLS hello is malformed";
}
