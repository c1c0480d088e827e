/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-sni.c - the server name of a ClientHello, in every cut (P164) */

#include "gate/proto/sni.h"

#include "base/buf.h"
#include "base/own.h"
#include "test.h"

static void put(struct buf *b, unsigned int value, size_t bytes)
{
	while (bytes--)
		buf_addc(b, (char)(value >> bytes * 8));
}

/* A part with its length before it */
static void put_part(struct buf *b, size_t bytes, const struct buf *part)
{
	put(b, (unsigned int)part->len, bytes);
	buf_add(b, part->p, part->len);
}

static void add_extension(struct buf *b, unsigned int type, const void *p,
			  size_t n)
{
	put(b, type, 2);
	put(b, (unsigned int)n, 2);
	buf_add(b, p, n);
}

static void add_name(struct buf *b, const char *name, size_t n)
{
	auto_buf struct buf list = { 0 };

	put(&list, (unsigned int)n + 3, 2);
	put(&list, 0, 1);
	put(&list, (unsigned int)n, 2);
	buf_add(&list, name, n);
	add_extension(b, 0, list.p, list.len);
}

/* The handshake message around @extensions; without any if that is NULL */
static void make_hello(struct buf *out, const struct buf *extensions)
{
	auto_buf struct buf body = { 0 };

	put(&body, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		put(&body, 0xaa, 1);
	put(&body, 0, 1);
	put(&body, 2, 2);
	put(&body, 0x1301, 2);
	put(&body, 0x0100, 2);
	if (extensions)
		put_part(&body, 2, extensions);
	put(out, 1, 1);
	put_part(out, 3, &body);
}

/* @hello in records of at most @piece bytes */
static void make_records(struct buf *out, const struct buf *hello,
			 size_t piece)
{
	for (size_t at = 0; at < hello->len; at += piece) {
		const size_t left = hello->len - at;
		const size_t n = left < piece ? left : piece;

		put(out, 0x160301, 3);
		put(out, (unsigned int)n, 2);
		buf_add(out, hello->p + at, n);
	}
}

static enum sni_result parse_extensions(const struct buf *extensions,
					struct host *ret)
{
	auto_buf struct buf hello = { 0 }, wire = { 0 };

	make_hello(&hello, extensions);
	make_records(&wire, &hello, hello.len);
	return sni_parse((const uint8_t *)wire.p, wire.len, ret);
}

static enum sni_result parse_name(const char *name, size_t n, struct host *ret)
{
	auto_buf struct buf extensions = { 0 };

	add_name(&extensions, name, n);
	return parse_extensions(&extensions, ret);
}

TEST(a_client_hello_yields_its_server_name)
{
	struct host sni;

	CHECK_INT(parse_name("a.test", 6, &sni), SNI_NAME);
	CHECK_STR(sni.name, "a.test");
	CHECK_INT(parse_name("A.Test.", 7, &sni), SNI_NAME);
	CHECK_STR(sni.name, "a.test");
}

TEST(a_client_hello_without_a_server_name_is_accepted)
{
	auto_buf struct buf empty = { 0 }, other = { 0 };
	struct host sni;

	CHECK_INT(parse_extensions(NULL, &sni), SNI_NONE);
	CHECK_INT(parse_extensions(&empty, &sni), SNI_NONE);
	add_extension(&other, 0x002b, "\2\3\4", 3);
	CHECK_INT(parse_extensions(&other, &sni), SNI_NONE);
}

TEST(the_outer_name_of_an_encrypted_hello_is_used)
{
	auto_buf struct buf extensions = { 0 };
	struct host sni;

	add_extension(&extensions, 0xfe0d, "x", 1);
	CHECK_INT(parse_extensions(&extensions, &sni), SNI_NONE);
	add_name(&extensions, "public.test", 11);
	CHECK_INT(parse_extensions(&extensions, &sni), SNI_NAME);
	CHECK_STR(sni.name, "public.test");
}

static void check_wire(const char *p, size_t n, enum sni_result want)
{
	struct host sni = { .port = 42 };

	CHECK_INT(sni_parse((const uint8_t *)p, n, &sni), want);
	if (want != SNI_NAME && want != SNI_NONE)
		CHECK_INT(sni.port, 42);
}

TEST(a_client_hello_is_reassembled_at_every_split)
{
	auto_buf struct buf extensions = { 0 }, hello = { 0 };

	add_extension(&extensions, 0x002b, "\2\3\4", 3);
	add_name(&extensions, "a.test", 6);
	add_extension(&extensions, 0x0010, "\0\3\2h2", 5);
	make_hello(&hello, &extensions);
	for (size_t piece = 1; piece <= hello.len; piece++) {
		auto_buf struct buf wire = { 0 };
		struct host sni;

		make_records(&wire, &hello, piece);
		for (size_t n = 0; n < wire.len; n++)
			check_wire(wire.p, n, SNI_MORE);
		check_wire(wire.p, wire.len, SNI_NAME);
		/* Data after the hello is early data, which is not parsed */
		buf_add(&wire, "\27\3\3\0\1x", 6);
		CHECK_INT(sni_parse((const uint8_t *)wire.p, wire.len, &sni),
			  SNI_NAME);
		CHECK_STR(sni.name, "a.test");
	}
}

TEST(other_protocols_are_recognized_by_their_first_byte)
{
	check_wire("", 0, SNI_MORE);
	check_wire("GET / HTTP/1.1\r\n", 16, SNI_NOT_TLS);
	check_wire("SSH-2.0-x\r\n", 11, SNI_NOT_TLS);
	check_wire("\200\56\1\3\1", 5, SNI_NOT_TLS);
	check_wire("\0", 1, SNI_NOT_TLS);
	check_wire("\25\3\1", 3, SNI_NOT_TLS);
}

TEST(broken_records_are_malformed)
{
	check_wire("\26\2", 2, SNI_MALFORMED);
	check_wire("\26\4\1\0\5", 5, SNI_MALFORMED);
	check_wire("\26\3\1\0\0", 5, SNI_MALFORMED);
	check_wire("\26\3\1\100\1", 5, SNI_MALFORMED);
	check_wire("\26\3\1\0\1\2", 6, SNI_MALFORMED);
	check_wire("\26\3\1\0\1\1\27", 7, SNI_MALFORMED);
	check_wire("\26\3\1\0\1\1\24\3\3\0\1\1", 12, SNI_MALFORMED);
	check_wire("\26\3\1\0\4\1\0\0\0", 9, SNI_MALFORMED);
	check_wire("\26\3\1\0\4\1\1\0\0", 9, SNI_MALFORMED);
	/* A second message in the ClientHello's record, whole or not */
	check_wire("\26\3\1\0\6\1\0\0\1\3\1", 11, SNI_MALFORMED);
	check_wire("\26\3\1\0\6\1\0\0\1\3", 10, SNI_MALFORMED);
}

TEST(a_server_name_must_be_a_single_valid_host_name)
{
	static const struct {
		const char *p;
		size_t n;
	} bad[] = {
		{ "", 0 }, { "a.test\0", 7 }, { "evil.test\0.a.test", 17 },
		{ "a test", 6 }, { "a..test", 7 }, { "127.1", 5 }, { ".", 1 },
		{ "a\303\251.test", 8 }, { "[::1]", 5 }, { "a.test:443", 10 },
	};
	struct host sni;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_INT(parse_name(bad[i].p, bad[i].n, &sni), SNI_MALFORMED);
}

static void check_extension(const char *p, size_t n)
{
	auto_buf struct buf extensions = { 0 };
	struct host sni;

	add_extension(&extensions, 0, p, n);
	CHECK_INT(parse_extensions(&extensions, &sni), SNI_MALFORMED);
}

TEST(ambiguous_name_lists_are_malformed)
{
	auto_buf struct buf twice = { 0 };
	struct host sni;

	add_name(&twice, "a.test", 6);
	add_name(&twice, "a.test", 6);
	CHECK_INT(parse_extensions(&twice, &sni), SNI_MALFORMED);
	check_extension("", 0);
	check_extension("\0", 1);
	check_extension("\0\0", 2);
	check_extension("\0\4\0\0\1", 5);		/* Cut short */
	check_extension("\0\3\0\0\1a", 6);		/* List too short */
	check_extension("\0\5\0\0\1ab", 7);		/* Too long */
	check_extension("\0\4\0\0\1ab", 7);		/* After the list */
	check_extension("\0\4\1\0\1a", 6);		/* Unknown type */
	check_extension("\0\10\0\0\1a\0\0\1b", 10);	/* Two names */
}

/* A good hello with one length that is off by one has no server name */
TEST(lengths_in_a_client_hello_must_match_exactly)
{
	auto_buf struct buf extensions = { 0 }, hello = { 0 };
	/* Handshake, session, suites, compression, extensions, name */
	static const size_t lengths[] = { 3, 38, 40, 43, 46, 50, 52, 55 };

	add_name(&extensions, "a.test", 6);
	make_hello(&hello, &extensions);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (int change = -1; change <= 1; change += 2) {
			auto_buf struct buf wire = { 0 };
			struct host sni;
			enum sni_result r;

			hello.p[lengths[i]] += (char)change;
			make_records(&wire, &hello, hello.len);
			r = sni_parse((const uint8_t *)wire.p, wire.len, &sni);
			hello.p[lengths[i]] -= (char)change;
			if (r != SNI_MALFORMED &&
			    !(r == SNI_MORE && lengths[i] == 3))
				test_fail(__FILE__, __LINE__, "%zu%+d: %d",
					  lengths[i], change, (int)r);
		}
	}
}

/* The message says that it ends early; it must not be read beyond that */
TEST(a_truncated_client_hello_is_malformed)
{
	auto_buf struct buf extensions = { 0 }, hello = { 0 };
	/* Where a hello without extensions could end */
	const size_t bare = 4 + 34 + 1 + 4 + 2;

	add_extension(&extensions, 0x002b, "\2\3\4", 3);
	add_name(&extensions, "a.test", 6);
	make_hello(&hello, &extensions);
	for (size_t n = 4; n < hello.len; n++) {
		auto_buf struct buf wire = { 0 }, cut = { 0 };

		buf_add(&cut, hello.p, n);
		cut.p[3] = (char)(n - 4);
		make_records(&wire, &cut, cut.len);
		check_wire(wire.p, wire.len,
			   n == bare ? SNI_NONE : SNI_MALFORMED);
	}
}

static enum sni_result parse_patched(size_t at, int value)
{
	auto_buf struct buf extensions = { 0 }, hello = { 0 }, wire = { 0 };
	struct host sni;

	add_name(&extensions, "a.test", 6);
	make_hello(&hello, &extensions);
	hello.p[at] = (char)value;
	make_records(&wire, &hello, hello.len);
	return sni_parse((const uint8_t *)wire.p, wire.len, &sni);
}

TEST(a_client_hello_of_an_unknown_version_is_malformed)
{
	CHECK_INT(parse_patched(4, 3), SNI_NAME);
	CHECK_INT(parse_patched(4, 2), SNI_MALFORMED);
	CHECK_INT(parse_patched(4, 4), SNI_MALFORMED);
	CHECK_INT(parse_patched(5, 1), SNI_NAME);
}

static enum sni_result parse_shaped(size_t session, size_t suites,
				    size_t compressions)
{
	auto_buf struct buf body = { 0 }, hello = { 0 }, wire = { 0 };
	struct host sni;

	put(&body, 0x0301, 2);
	for (int i = 0; i < 32; i++)
		put(&body, 0, 1);
	put(&body, (unsigned int)session, 1);
	while (session--)
		put(&body, 0, 1);
	put(&body, (unsigned int)suites, 2);
	while (suites--)
		put(&body, 0, 1);
	put(&body, (unsigned int)compressions, 1);
	while (compressions--)
		put(&body, 0, 1);
	put(&hello, 1, 1);
	put_part(&hello, 3, &body);
	make_records(&wire, &hello, hello.len);
	return sni_parse((const uint8_t *)wire.p, wire.len, &sni);
}

TEST(fixed_size_fields_of_a_client_hello_are_checked)
{
	CHECK_INT(parse_shaped(0, 2, 1), SNI_NONE);
	CHECK_INT(parse_shaped(32, 200, 2), SNI_NONE);
	CHECK_INT(parse_shaped(33, 2, 1), SNI_MALFORMED);
	CHECK_INT(parse_shaped(0, 0, 1), SNI_MALFORMED);
	CHECK_INT(parse_shaped(0, 3, 1), SNI_MALFORMED);
	CHECK_INT(parse_shaped(0, 2, 0), SNI_MALFORMED);
}

static enum sni_result parse_padded(size_t total)
{
	auto_buf struct buf extensions = { 0 }, padding = { 0 }, hello = { 0 };
	auto_buf struct buf wire = { 0 };
	struct host sni;

	while (padding.len < total - (5 + 4 + 34 + 1 + 4 + 2 + 2 + 4 + 15))
		buf_addc(&padding, '\0');
	add_extension(&extensions, 21, padding.p, padding.len);
	add_name(&extensions, "a.test", 6);
	make_hello(&hello, &extensions);
	make_records(&wire, &hello, hello.len);
	CHECK_INT(wire.len, total);
	return sni_parse((const uint8_t *)wire.p, wire.len, &sni);
}

TEST(a_client_hello_larger_than_the_limit_is_malformed)
{
	CHECK_INT(parse_padded(SNI_PEEK_MAX), SNI_NAME);
	CHECK_INT(parse_padded(SNI_PEEK_MAX + 1), SNI_MALFORMED);
}

static const char *objection(enum sni_result result, const char *sni_name,
			     const char *host_name)
{
	struct host sni = { 0 };
	struct host h;

	CHECK_INT(host_parse(host_name, strlen(host_name), 443, &h), 0);
	if (sni_name)
		CHECK_INT(host_parse(sni_name, strlen(sni_name), 0, &sni),
			  0);
	return sni_objection(result, &sni, &h);
}

/* Domain fronting: the name in the tunnel is another than the one judged */
TEST(a_server_name_other_than_the_decided_host_is_refused)
{
	CHECK(!objection(SNI_NAME, "a.test", "a.test"));
	CHECK(!objection(SNI_NAME, "A.TEST.", "a.test"));
	CHECK(objection(SNI_NAME, "b.test", "a.test"));
	CHECK(objection(SNI_NAME, "x.a.test", "a.test"));
	CHECK(objection(SNI_NONE, NULL, "a.test"));
	CHECK(!objection(SNI_NONE, NULL, "10.0.0.1"));
	CHECK(!objection(SNI_NAME, "10.0.0.1", "10.0.0.1"));
	CHECK(objection(SNI_NAME, "a.test", "10.0.0.1"));
	CHECK(objection(SNI_NAME, "10.0.0.1", "a.test"));
	CHECK(objection(SNI_MALFORMED, NULL, "a.test"));
	CHECK(objection(SNI_MALFORMED, NULL, "10.0.0.1"));
	CHECK(objection(SNI_MORE, NULL, "10.0.0.1"));
	CHECK(!objection(SNI_NOT_TLS, NULL, "a.test"));
}
