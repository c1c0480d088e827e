/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-dns.c - DNS queries and answers */

#include "gate/proto/dns.h"

#include <errno.h>

#include "base/mem.h"
#include "base/own.h"
#include "test.h"

enum { A = 1, NS = 2, PTR = 12, AAAA = 28, SVCB = 64, HTTPS = 65, ANY = 255 };

/**
 * struct message - A message under construction
 */
struct message {
	uint8_t p[DNS_QUERY_MAX + 8];
	size_t n;
};

static void put(struct message *m, const void *bytes, size_t n)
{
	memcpy(m->p + m->n, bytes, n);
	m->n += n;
}

static void put16(struct message *m, unsigned int value)
{
	put(m, (const uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static struct message start(unsigned int flags, unsigned int questions,
			    unsigned int additional)
{
	struct message m = { 0 };

	put16(&m, 0x1234);
	put16(&m, flags);
	put16(&m, questions);
	put16(&m, 0);
	put16(&m, 0);
	put16(&m, additional);
	return m;
}

/* @name with dots, @type, class IN */
static void ask(struct message *m, const char *name, unsigned int type)
{
	while (*name) {
		const size_t n = strcspn(name, ".");

		put(m, (const uint8_t[]){ (uint8_t)n }, 1);
		put(m, name, n);
		name += n + (name[n] == '.');
	}
	put(m, "", 1);
	put16(m, type);
	put16(m, 1);
}

static struct message query(const char *name, unsigned int type)
{
	struct message m = start(0x0100, 1, 0);

	ask(&m, name, type);
	return m;
}

static void opt(struct message *m, unsigned int version, size_t data)
{
	put(m, "", 1);
	put16(m, 41);
	put16(m, 4096);
	put16(m, version);
	put16(m, 0x8000);
	put16(m, (unsigned int)data);
	for (size_t i = 0; i < data; i++)
		put(m, "x", 1);
}

/* From a copy of exactly that size, so that a sanitizer sees its end */
static int parse_cut(const struct message *m, size_t n, struct dns_query *ret)
{
	auto_free uint8_t *copy = mem_zalloc(n + !n);

	memcpy(copy, m->p, n);
	return dns_query_parse(copy, n, ret);
}

static int parse(const struct message *m, struct dns_query *ret)
{
	return parse_cut(m, m->n, ret);
}

TEST(a_query_is_parsed)
{
	struct message m = query("Api.Example.COM", A);
	struct dns_query q;

	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.id, 0x1234);
	CHECK_INT(q.ask, DNS_ASK_A);
	CHECK(q.named && !q.edns);
	CHECK_STR(q.host.name, "api.example.com");
	CHECK_INT(q.host.port, 0);
	m = query("redis", AAAA);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_AAAA);
	CHECK_STR(q.host.name, "redis");
	for (unsigned int i = 0; i < 2; i++) {
		m = query("a.test", (const unsigned int[]){ HTTPS, SVCB }[i]);
		CHECK_INT(parse(&m, &q), 0);
		CHECK_INT(q.ask, DNS_ASK_OTHER);
	}
	m = query("1.0.18.198.in-addr.arpa", PTR);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_REVERSE);
	m = query("ip6.arpa", A);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_REVERSE);
	m = query("a.notip6.arpa", A);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_A);
	m = query("in-addr.arpa.test", A);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_A);
}

TEST(an_answer_repeats_the_question_byte_for_byte)
{
	const struct message m = query("aPi.eXample", A);
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q;

	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(dns_answer(&q, DNS_NXDOMAIN, NULL, out), m.n);
	CHECK(!memcmp(out, "\x12\x34\x81\x83\0\1\0\0\0\0\0\0", 12));
	CHECK(!memcmp(out + 12, m.p + 12, m.n - 12));
}

TEST(an_address_is_put_into_the_answer)
{
	struct message m = query("a.test", A);
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t n;

	CHECK_INT(parse(&m, &q), 0);
	n = dns_answer(&q, DNS_ADDRESS, (const uint8_t *)"\306\22\1\0", out);
	CHECK_INT(n, m.n + 16);
	CHECK(!memcmp(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12));
	CHECK(!memcmp(out + m.n, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\306\22\1\0",
		      16));
	m = query("a.test", AAAA);
	CHECK_INT(parse(&m, &q), 0);
	n = dns_answer(&q, DNS_ADDRESS,
		       (const uint8_t *)"\xfd" "clocheX\0\0\0\0\0\0\1\0", out);
	CHECK_INT(n, m.n + 28);
	CHECK(!memcmp(out + m.n, "\xc0\x0c\0\34\0\1\0\0\0\x3c\0\20\xfd" "cloche",
		      19));
}

TEST(each_result_has_its_response_code)
{
	static const struct {
		enum dns_result result;
		int code;
	} rows[] = {
		{ DNS_NODATA, 0 }, { DNS_FORMERR, 1 }, { DNS_SERVFAIL, 2 },
		{ DNS_NXDOMAIN, 3 }, { DNS_NOTIMP, 4 }, { DNS_REFUSED, 5 },
	};
	const struct message m = query("a.test", A);
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q;

	CHECK_INT(parse(&m, &q), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_INT(dns_answer(&q, rows[i].result, NULL, out), m.n);
		CHECK_INT(out[3] & 15, rows[i].code);
		CHECK_INT(out[7], 0);
	}
}

TEST(extensions_are_tolerated_and_returned)
{
	struct message m = start(0x0100, 1, 1);
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t question;

	ask(&m, "a.test", A);
	question = m.n;
	opt(&m, 0, 12);
	CHECK_INT(parse(&m, &q), 0);
	CHECK(q.edns);
	CHECK_INT(dns_answer(&q, DNS_NODATA, NULL, out), question + 11);
	CHECK_INT(out[11], 1);
	CHECK(!memcmp(out + question, "\0\0\51\4\320\0\0\0\0\0\0", 11));

	m.n = question;
	opt(&m, 1, 0);		/* Version 1 is not there yet */
	CHECK_INT(parse(&m, &q), DNS_BADVERS);
	CHECK_INT(dns_answer(&q, DNS_BADVERS, NULL, out), question + 11);
	CHECK(!memcmp(out + question, "\0\0\51\4\320\1\0\0\0\0\0", 11));

	for (int i = DNS_NODATA; i < DNS_BADVERS; i++) {
		CHECK_INT(dns_answer(&q, (enum dns_result)i, NULL, out),
			  question + 11);
		CHECK_INT(out[question + 5], 0);
	}

	m.n = question;		/* Twice is once too often */
	m.p[11] = 2;
	opt(&m, 0, 0);
	opt(&m, 0, 0);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
}

/* Four additional records of unknown types, then a fifth */
TEST(at_most_four_additional_records_are_accepted)
{
	struct message m = start(0x0100, 1, 4);
	struct dns_query q;

	ask(&m, "a.test", A);
	for (int i = 0; i < 5; i++) {
		const size_t before = m.n;

		put(&m, i % 2 ? "\1k\300\14" : "\300\14", i % 2 ? 4 : 2);
		put16(&m, 250);
		put(&m, "\0\377\0\0\0\0\0\3key", 11);
		m.p[11] = (uint8_t)(i + 1);
		CHECK_INT(parse(&m, &q), i < 4 ? 0 : DNS_FORMERR);
		CHECK(!q.edns);
		for (size_t n = before; n < m.n; n++)
			CHECK_INT(parse_cut(&m, n, &q), DNS_FORMERR);
	}
	m = start(0, 1, 1);	/* An OPT is of the root */
	ask(&m, "a.test", A);
	put(&m, "\1a", 2);
	opt(&m, 0, 0);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
}

TEST(messages_that_are_not_queries_are_dropped)
{
	struct message m = query("a.test", A);
	struct dns_query q;

	CHECK_INT(dns_query_parse(m.p, 0, &q), -EBADMSG);
	CHECK_INT(dns_query_parse(m.p, 11, &q), -EBADMSG);
	m.p[2] |= 0x80;
	CHECK_INT(parse(&m, &q), -EBADMSG);
}

TEST(long_messages_are_dropped)
{
	struct message m = start(0, 1, 1);
	struct dns_query q;
	size_t question;

	ask(&m, "a.test", A);
	question = m.n;
	opt(&m, 0, DNS_QUERY_MAX - question - 11);
	CHECK_INT(m.n, DNS_QUERY_MAX);
	CHECK_INT(parse(&m, &q), 0);
	m.n = question;
	opt(&m, 0, DNS_QUERY_MAX - question - 10);
	CHECK_INT(parse(&m, &q), -EBADMSG);
}

TEST(truncated_questions_get_FORMERR)
{
	const struct message good = query("api.a.test", A);
	uint8_t out[DNS_ANSWER_MAX];
	struct message m;
	struct dns_query q;

	for (size_t n = 12; n < good.n; n++) {
		CHECK_INT(parse_cut(&good, n, &q), DNS_FORMERR);
		CHECK_INT(dns_answer(&q, DNS_FORMERR, NULL, out), 12);
		CHECK(!memcmp(out, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0", 12));
	}
	m = good;
	put(&m, "x", 1);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
	m = start(0, 0, 0);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
	m = start(0, 2, 0);
	ask(&m, "a.test", A);
	ask(&m, "b.test", A);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
	for (unsigned int at = 4; at < 12; at++) {	/* Counts */
		m = good;
		m.p[at] = 5;
		CHECK_INT(parse(&m, &q), DNS_FORMERR);
	}
}

TEST(zone_transfers_and_other_classes_are_refused)
{
	struct message m = query("a.test", 252);
	struct dns_query q;

	CHECK_INT(parse(&m, &q), DNS_REFUSED);
	m = query("a.test", 251);
	CHECK_INT(parse(&m, &q), DNS_REFUSED);
	m = query("a.test", A);
	m.p[m.n - 1] = 3;	/* Chaos */
	CHECK_INT(parse(&m, &q), DNS_REFUSED);
	m = query("a.test", A);
	m.p[2] |= 0x28;		/* Update */
	CHECK_INT(parse(&m, &q), DNS_NOTIMP);
	m = query("a.test", ANY);
	CHECK_INT(parse(&m, &q), 0);
	CHECK_INT(q.ask, DNS_ASK_OTHER);
}

TEST(compressed_names_in_a_question_get_FORMERR)
{
	static const struct {
		const char *p;
		size_t n;
	} names[] = {
		{ "\300\14", 2 }, { "\1a\300\14", 4 }, { "\300\377", 2 },
		{ "\1a\300\15", 4 }, { "\300\0", 2 }, { "\100a\0", 3 },
		{ "\200a\0", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct message m = start(0, 1, 0);
		struct dns_query q;

		put(&m, names[i].p, names[i].n);
		put16(&m, A);
		put16(&m, 1);
		CHECK_INT(parse(&m, &q), DNS_FORMERR);
	}
}

TEST(names_fit_in_255_bytes_on_the_wire)
{
	char name[300];
	struct message m;
	struct dns_query q;

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[253] = '\0';	/* 3 * 64 + 61: 255 with lengths and root */
	m = query(name, A);
	CHECK_INT(parse(&m, &q), 0);
	CHECK(q.named);
	CHECK_INT(strlen(q.host.name), 253);
	CHECK_INT(q.question_n, DNS_QUESTION_MAX);
	name[253] = 'a';
	name[254] = '\0';
	m = query(name, A);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
}

TEST(labels_of_more_than_63_bytes_are_refused)
{
	char name[70];
	struct message m;
	struct dns_query q;

	memset(name, 'a', sizeof(name));
	name[63] = '\0';
	m = query(name, A);
	CHECK_INT(parse(&m, &q), 0);
	CHECK(q.named);
	name[63] = 'a';
	name[64] = '\0';
	m = query(name, A);
	CHECK_INT(parse(&m, &q), DNS_FORMERR);
}

TEST(names_that_are_not_host_names_are_marked)
{
	static const char *const odd[] = {
		"", "127.0.0.1", "127.1", "0x7f.1", "a.1", "a b.test", "a\tb",
		"-a.test", "*.a.test", "::1", "caf\303\251.test",
	};
	struct message m;
	struct dns_query q;

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		m = query(odd[i], A);
		CHECK_INT(parse(&m, &q), 0);
		if (q.named)
			test_fail(__FILE__, __LINE__, "'%s' is a host", odd[i]);
	}
	m = start(0, 1, 0);	/* A dot and a NUL within a label */
	put(&m, "\6a.test\0\0\1\0\1", 12);
	CHECK_INT(parse(&m, &q), 0);
	CHECK(!q.named);
	m = start(0, 1, 0);
	put(&m, "\5evil\0\4test\0\0\1\0\1", 16);
	CHECK_INT(parse(&m, &q), 0);
	CHECK(!q.named);
}

TEST(a_tcp_message_has_a_length_prefix)
{
	uint8_t p[16] = { 0, 12 };

	CHECK_INT(dns_tcp_scan(p, 0), 0);
	CHECK_INT(dns_tcp_scan(p, 1), 0);
	CHECK_INT(dns_tcp_scan(p, 13), 0);
	CHECK_INT(dns_tcp_scan(p, 14), 14);
	CHECK_INT(dns_tcp_scan(p, 16), 14);
	p[1] = 0;
	CHECK_INT(dns_tcp_scan(p, 2), 2);
	p[0] = DNS_QUERY_MAX >> 8;
	CHECK_INT(dns_tcp_scan(p, 2), 0);
	p[1] = 1;
	CHECK_INT(dns_tcp_scan(p, 2), -EMSGSIZE);
}
