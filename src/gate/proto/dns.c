/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/proto/dns.c - DNS questions read, and answers made
 *
 * Theory of operation: a question has one name, and we are the authority for
 * all of them, so nothing here follows a compression pointer and no answer
 * needs more than one record. The question is repeated byte for byte, because
 * clients check the case they chose at random.
 */

#include "gate/proto/dns.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_LEN = 12,
	LABEL_MAX = 63, WIRE_NAME_MAX = 255,
	RECORDS_MAX = 4,	/* Additional records of a question */
	FLAG_RESPONSE = 0x8000, FLAG_RD = 0x0100, FLAG_RA = 0x0080,
	FLAG_CD = 0x0010, OPCODE_MASK = 0x7800,
	TYPE_A = 1, TYPE_AAAA = 28, TYPE_OPT = 41,
	TYPE_IXFR = 251, TYPE_AXFR = 252,
	CLASS_IN = 1,
	UDP_SIZE = 1232,	/* What we say we take, by custom */
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint8_t *put16(uint8_t *p, unsigned int value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

/* Step *@at over a name at p[*@at]; a pointer ends it if @pointers. @text, if
 * not NULL, gets the labels with dots between them, *@text_n bytes; a dot
 * within a label becomes a blank, which no host name has. 0 or -EBADMSG.
 */
static int name_parse(const uint8_t *p, size_t n, size_t *at, bool pointers,
		      char *text, size_t *text_n)
{
	const size_t start = *at;
	size_t i = start, out = 0;

	for (;;) {
		size_t len;

		if (i >= n || i - start >= WIRE_NAME_MAX)
			return -EBADMSG;
		len = p[i++];
		if (!len)
			break;
		if (pointers && len >= 0xc0 && i < n) {
			i++;
			break;
		}
		if (len > LABEL_MAX || len > n - i ||
		    i + len - start >= WIRE_NAME_MAX)
			return -EBADMSG;
		for (size_t k = 0; text && k < len; k++, i++)
			text[out++] = p[i] == '.' ? ' ' : (char)p[i];
		if (text)
			text[out++] = '.';
		else
			i += len;
	}
	if (text)
		*text_n = out;
	*at = i;
	return 0;
}

static bool ends_in(const char *name, const char *suffix)
{
	const size_t n = strlen(name), len = strlen(suffix);

	return n >= len && !strcmp(name + n - len, suffix) &&
	       (n == len || name[n - len - 1] == '.');
}

static int question_parse(const uint8_t *p, size_t n, size_t *at,
			  struct dns_query *q)
{
	char text[WIRE_NAME_MAX + 1];
	size_t text_n = 0, i = *at;
	uint16_t class;

	if (name_parse(p, n, &i, false, text, &text_n) < 0 || n - i < 4)
		return DNS_FORMERR;
	q->type = get16(p + i);
	class = get16(p + i + 2);
	i += 4;
	q->named = !host_parse(text, text_n, 0, &q->host) &&
		   q->host.kind == HOST_NAME;
	q->ask = q->type == TYPE_A ? DNS_ASK_A :
		 q->type == TYPE_AAAA ? DNS_ASK_AAAA : DNS_ASK_OTHER;
	if (q->named && (ends_in(q->host.name, "in-addr.arpa") ||
			 ends_in(q->host.name, "ip6.arpa")))
		q->ask = DNS_ASK_REVERSE;
	memcpy(q->question, p + *at, i - *at);
	q->question_n = i - *at;
	*at = i;
	if (class != CLASS_IN || q->type == TYPE_AXFR || q->type == TYPE_IXFR)
		return DNS_REFUSED;
	return 0;
}

/* Additional records: one OPT may be there, others are stepped over */
static int additional_parse(const uint8_t *p, size_t n, size_t *at,
			    struct dns_query *q, bool *bad_version)
{
	const size_t start = *at;
	size_t data;

	if (name_parse(p, n, at, true, NULL, NULL) < 0 || n - *at < 10)
		return DNS_FORMERR;
	data = get16(p + *at + 8);
	if (get16(p + *at) == TYPE_OPT) {
		if (q->edns || p[start])	/* Once, and of the root */
			return DNS_FORMERR;
		q->edns = true;
		*bad_version = p[*at + 5] != 0;
	}
	*at += 10;
	if (n - *at < data)
		return DNS_FORMERR;
	*at += data;
	return 0;
}

int dns_query_parse(const uint8_t *p, size_t n, struct dns_query *ret)
{
	struct dns_query q = { 0 };
	bool bad_version = false;
	size_t at = HEADER_LEN;
	int r = 0, refused;

	if (n < HEADER_LEN || n > DNS_QUERY_MAX ||
	    get16(p + 2) & FLAG_RESPONSE)
		return -EBADMSG;
	q.id = get16(p);
	q.flags = get16(p + 2);
	*ret = q;
	if (q.flags & OPCODE_MASK)
		return DNS_NOTIMP;
	if (get16(p + 4) != 1 || get16(p + 6) || get16(p + 8) ||
	    get16(p + 10) > RECORDS_MAX)
		return DNS_FORMERR;
	refused = question_parse(p, n, &at, &q);
	if (refused == DNS_FORMERR)
		return DNS_FORMERR;
	for (unsigned int i = 0; !r && i < get16(p + 10); i++)
		r = additional_parse(p, n, &at, &q, &bad_version);
	*ret = q;
	if (r || at != n)
		return DNS_FORMERR;
	return bad_version ? DNS_BADVERS : refused;
}

size_t dns_answer(const struct dns_query *query, enum dns_result result,
		  const uint8_t *address, uint8_t ret[DNS_ANSWER_MAX])
{
	static const struct {
		unsigned int rcode, extended;
	} codes[] = {
		[DNS_ADDRESS] = { 0, 0 }, [DNS_NODATA] = { 0, 0 },
		[DNS_FORMERR] = { 1, 0 }, [DNS_SERVFAIL] = { 2, 0 },
		[DNS_NXDOMAIN] = { 3, 0 }, [DNS_NOTIMP] = { 4, 0 },
		[DNS_REFUSED] = { 5, 0 }, [DNS_BADVERS] = { 0, 1 },
	};
	const bool found = result == DNS_ADDRESS;
	const size_t len = query->ask == DNS_ASK_AAAA ? 16 : 4;
	uint8_t *p = ret;

	p = put16(p, query->id);
	p = put16(p, FLAG_RESPONSE | FLAG_RA | codes[result].rcode |
		     (query->flags & (OPCODE_MASK | FLAG_RD | FLAG_CD)));
	p = put16(p, query->question_n ? 1 : 0);
	p = put16(p, found);
	p = put16(p, 0);
	p = put16(p, query->edns);
	memcpy(p, query->question, query->question_n);
	p += query->question_n;
	if (found) {
		p = put16(p, 0xc000 | HEADER_LEN);	/* Its name again */
		p = put16(p, query->type);
		p = put16(p, CLASS_IN);
		p = put16(p, 0);
		p = put16(p, DNS_TTL);
		p = put16(p, (unsigned int)len);
		memcpy(p, address, len);
		p += len;
	}
	if (query->edns) {
		*p++ = 0;
		p = put16(p, TYPE_OPT);
		p = put16(p, UDP_SIZE);
		p = put16(p, codes[result].extended << 8);
		p = put16(p, 0);
		p = put16(p, 0);
	}
	return (size_t)(p - ret);
}

ssize_t dns_tcp_scan(const uint8_t *p, size_t n)
{
	size_t len;

	if (n < 2)
		return 0;
	len = get16(p);
	if (len > DNS_QUERY_MAX)
		return -EMSGSIZE;
	return n < 2 + len ? 0 : (ssize_t)(2 + len);
}
