/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/answer.c - a DNS question made, and its answer read
 *
 * Theory of operation: only what a stub resolver needs. A recursive server
 * follows aliases itself and puts all it found into the answer section, so
 * every address record there counts and names are skipped, never unpacked.
 */

#include "firewall/answer.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER = 12,
	RECORD = 10,		/* Type, class, time to live, length */
	CLASS_IN = 1,
	TYPE_A = 1,
	TYPE_AAAA = 28,
	FLAG_RESPONSE = 0x8000,
	FLAG_CUT = 0x0200,
	FLAG_RECURSE = 0x0100,
	CODE_MASK = 0x000f,
	CODE_NXDOMAIN = 3,
	LABEL_POINTER = 0xc0,
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned int value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static unsigned int type_of(enum host_kind kind)
{
	return kind == HOST_IPV4 ? TYPE_A : TYPE_AAAA;
}

size_t answer_question(const char *name, enum host_kind kind, uint16_t id,
		       uint8_t ret[ANSWER_QUESTION_MAX])
{
	size_t at = HEADER;

	memset(ret, 0, HEADER);
	put16(ret, id);
	put16(ret + 2, FLAG_RECURSE);
	put16(ret + 4, 1);
	while (*name) {
		const size_t n = strcspn(name, ".");

		ret[at++] = (uint8_t)n;
		memcpy(ret + at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	ret[at++] = 0;
	put16(ret + at, type_of(kind));
	put16(ret + at + 2, CLASS_IN);
	return at + 4;
}

/* Step over a name; 0 if it runs past the end */
static size_t skip_name(const uint8_t *p, size_t n, size_t at)
{
	while (at < n) {
		if ((p[at] & LABEL_POINTER) == LABEL_POINTER)
			return n - at >= 2 ? at + 2 : 0;
		if (!p[at])
			return at + 1;
		at += (size_t)p[at] + 1;
	}
	return 0;
}

static void add_address(const uint8_t *p, size_t n, struct resolver_answer *ret)
{
	if (ret->len < ANSWER_ADDRESSES_MAX)
		host_of_address(p, n, 0, &ret->v[ret->len++]);
}

static int read_records(const uint8_t *p, size_t n, size_t at, size_t count,
			enum host_kind kind, struct resolver_answer *ret)
{
	const size_t width = kind == HOST_IPV4 ? 4 : 16;

	while (count--) {
		size_t length;

		at = skip_name(p, n, at);
		if (!at || n - at < RECORD)
			return -EBADMSG;
		length = get16(p + at + 8);
		if (n - at - RECORD < length)
			return -EBADMSG;
		if (get16(p + at) == type_of(kind) &&
		    get16(p + at + 2) == CLASS_IN && length == width)
			add_address(p + at + RECORD, width, ret);
		at += RECORD + length;
	}
	return 0;
}

int answer_read(const uint8_t *p, size_t n, enum host_kind kind, uint16_t id,
		struct resolver_answer *ret)
{
	size_t at = HEADER;
	unsigned int flags;

	if (n < HEADER || get16(p) != id || get16(p + 4) != 1)
		return -EBADMSG;
	flags = get16(p + 2);
	if (!(flags & FLAG_RESPONSE))
		return -EBADMSG;
	if (flags & FLAG_CUT)
		return -EMSGSIZE;
	if ((flags & CODE_MASK) == CODE_NXDOMAIN)
		return -ENOENT;
	if (flags & CODE_MASK)
		return -EAGAIN;
	at = skip_name(p, n, at);
	if (!at || n - at < 4)
		return -EBADMSG;
	return read_records(p, n, at + 4, get16(p + 6), kind, ret);
}
