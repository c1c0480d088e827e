/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-host-pattern.c - the hosts that a pattern matches, and invalid patterns */

#include "policy/host.h"

#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "test.h"

static bool covers_as(const char *pattern, bool deny, const char *text,
		      uint16_t port)
{
	struct err err = { 0 };
	struct host_pattern *p = host_pattern_new(pattern, deny, &err);
	struct host h;
	bool match;

	if (!p)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	CHECK_INT(host_parse(text, strlen(text), port, &h), 0);
	match = host_pattern_match(p, &h);
	host_pattern_free(p);
	return match;
}

TEST(host_patterns_match_exact_and_wildcard_names)
{
	static const struct {
		const char *pattern, *host;
		uint16_t port;
		bool covered;
	} rows[] = {
		{ "wild.test", "wild.test", 443, true },
		{ "wild.test", "WILD.test.", 443, true },
		{ "Wild.Test.", "wild.test", 80, true },
		{ "wild.test", "a.wild.test", 443, false },
		{ "wild.test", "evilwild.test", 443, false },
		{ "wild.test", "wild.test.evil", 443, false },
		{ "wild.test", "wild.tes", 443, false },
		{ "wild.test", "wild-test", 443, false },
		{ "*.wild.test", "a.wild.test", 443, true },
		{ "*.wild.test", "a.b.wild.test", 443, true },
		{ "*.wild.test", "A.B.WILD.TEST.", 443, true },
		{ "*.WILD.test.", "a.wild.test", 443, true },
		{ "*.wild.test", "wild.test", 443, false },
		{ "*.wild.test", "wild.test.", 443, false },
		{ "*.wild.test", "evilwild.test", 443, false },
		{ "*.wild.test", "wild.test.evil", 443, false },
		{ "*.wild.test", "a.wild.test.evil.test", 443, false },
		{ "*.wild.test", "a.wild-test", 443, false },
		{ "redis", "redis", 6379, true },
		{ "redis", "redis.evil", 6379, false },
		{ "redis", "a.redis", 6379, false },
		{ "localhost", "localhost", 1, true },
		{ "localhost", "127.0.0.1", 1, false },
		{ "a.test:443", "a.test", 443, true },
		{ "a.test:443", "a.test", 22, false },
		{ "a.test:443", "a.test", 44, false },
		{ "*.a.test:8080", "x.a.test", 8080, true },
		{ "*.a.test:8080", "x.a.test", 80, false },
		{ "redis:6379", "redis", 6379, true },
		{ "10.1.2.3", "10.1.2.3", 1, true },
		{ "10.1.2.3", "10.1.2.4", 1, false },
		{ "10.1.2.3:80", "10.1.2.3", 80, true },
		{ "10.1.2.3:80", "10.1.2.3", 81, false },
		{ "10.1.2.3", "::ffff:10.1.2.3", 1, true },
		{ "[::1]", "::1", 1, true },
		{ "[::1]", "0:0:0:0:0:0:0:1", 1, true },
		{ "[::1]:443", "::1", 443, true },
		{ "[::1]:443", "::1", 80, false },
		{ "10.0.0.0/8", "10.200.1.1", 1, true },
		{ "10.0.0.0/8", "11.0.0.1", 1, false },
		{ "10.0.0.0/8:443", "10.200.1.1", 443, true },
		{ "10.0.0.0/8:443", "10.200.1.1", 444, false },
		{ "fd00::/8", "fd12::1", 1, true },
		{ "[fd00::]/8", "fd12::1", 1, true },
		{ "[fd00::]/8:22", "fd12::1", 22, true },
		{ "[fd00::]/8:22", "fd12::1", 23, false },
		{ "fc00::/7", "fd12::1", 1, true },
		/* A name that looks like an address is still a name */
		{ "10.0.0.0/8", "10.0.0.1.example", 1, false },
		{ "127.0.0.1.example", "127.0.0.1", 1, false },
		{ "*.github.io", "someone.github.io", 443, true },
		{ "*.x.co.uk", "a.x.co.uk", 443, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (covers_as(rows[i].pattern, false, rows[i].host,
			      rows[i].port) != rows[i].covered)
			test_fail(__FILE__, __LINE__, "%s and %s:%u",
				  rows[i].pattern, rows[i].host, rows[i].port);
	}
}

TEST(without_a_port_a_host_stands_for_all_of_its_ports)
{
	CHECK(covers_as("a.test:443", false, "a.test", 0));
	CHECK(!covers_as("a.test:443", true, "a.test", 0));
	CHECK(covers_as("a.test", true, "a.test", 0));
	CHECK(!covers_as("a.test:443", false, "b.test", 0));
}

TEST(a_lone_star_is_valid_in_deny_only)
{
	struct err err = { 0 };

	CHECK(covers_as("*", true, "a.test", 1));
	CHECK(covers_as("*", true, "::1", 1));
	CHECK(covers_as("*:25", true, "a.test", 25));
	CHECK(!covers_as("*:25", true, "a.test", 80));
	CHECK(covers_as("0.0.0.0/0", true, "1.2.3.4", 80));
	CHECK(!host_pattern_new("*", false, &err));
	CHECK_INT(err.code, -EINVAL);
	CHECK_CONTAINS(err.msg, "too broad");
	CHECK(!host_pattern_new("*:443", false, NULL));
}

static void check_refused(const char *text, bool deny)
{
	struct err err = { 0 };
	struct host_pattern *p = host_pattern_new(text, deny, &err);

	if (p)
		test_fail(__FILE__, __LINE__, "'%s' was accepted", text);
	CHECK_INT(err.code, -EINVAL);
	if ((unsigned char)*text >= ' ' && !strchr(text, '\n'))
		CHECK_CONTAINS(err.msg, "'");
}

TEST(bad_patterns_are_refused_with_a_message)
{
	static const char *const bad[] = {
		"", ".", "*.", "**", "*.*", "*.*.test", "a*b.test", "a.*.test",
		"*a.test", "a.*", "[*]", "*.com", "*.localhost", "*.redis",
		"*.1.2.3.4", "*.10.0.0.1", "http://a.test",
		"https://a.test/x", "a.test/x", "a.test/", "//a.test", "a b.test",
		"a..test", ".a.test", "a.test:", "a.test:0", "a.test:65536",
		"a.test:0443", "a.test:http", "a.test:443:443", "::1", "fd00::1",
		"::1:443", "[::1", "[::1]x", "[::1]:", "[a.test]", "127.1",
		"0x7f.1", "2130706433", "0177.0.0.1", "10.0.0.1.", "10.0.0.1/8",
		"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8:", "10.0.0.0/8:0",
		"u@a.test", "caf\303\251.fr", "a\ttest", "a\ntest", "-a.test",
		"*.-a.test", "a.test?", "a.test#", "!a.test", "~.test",
		"::ffff:10.0.0.0/104", "fd00::/8:443x", "*:0", "*:x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		check_refused(bad[i], false);
		check_refused(bad[i], true);
	}
}

TEST(public_suffixes_are_refused_in_allow)
{
	static const char *const registries[] = {
		"*.co.uk", "*.COM.au", "*.org.br", "*.ac.jp", "*.co.uk.",
		"*.co.uk:443",
	};

	for (size_t i = 0; i < ARRAY_SIZE(registries); i++)
		check_refused(registries[i], false);
	CHECK(covers_as("*.co.uk", true, "a.co.uk", 1));
	CHECK(!covers_as("*.co.uk", true, "co.uk", 1));
}

TEST(ranges_too_broad_to_be_meant_are_refused_in_allow)
{
	check_refused("0.0.0.0/0", false);
	check_refused("0.0.0.0/7", false);
	check_refused("::/0", false);
	check_refused("fc00::/6", false);
	CHECK(covers_as("11.0.0.0/8", false, "11.1.1.1", 1));
	CHECK(covers_as("fc00::/7", false, "fc00::1", 1));
}

static void check_words(const char *text, const char *words)
{
	struct err err = { 0 };

	CHECK(!host_pattern_new(text, false, &err));
	CHECK_CONTAINS(err.msg, text);
	CHECK_CONTAINS(err.msg, words);
}

TEST(errors_about_patterns_show_the_correct_form)
{
	check_words("https://a.test", "without scheme or path");
	check_words("a.test/8", "without scheme or path");
	check_words("10.0.0.1/8", "a range as its first address");
	check_words("[fd00::1]/8", "a range as its first address");
	check_words("10.0.0.0/33", "a range as its first address");
	check_words("a.*.test", "'*.example.com'");
	check_words("::1", "brackets");
	check_words("*.co.uk", "anyone can register");
	check_words("a.test:70000", "1 to 65535");
	check_words("0.0.0.0/0", "/8 or longer");
	check_words("b\303\274cher.example", "xn--");
}

static const char *advice(const char *text, bool deny)
{
	struct host_pattern *p = host_pattern_new(text, deny, NULL);
	const char *words;

	CHECK(p);
	words = host_pattern_advice(p);
	host_pattern_free(p);
	return words;
}

TEST(allowing_a_shared_suffix_warns)
{
	CHECK(advice("*.github.io", false));
	CHECK(advice("*.amazonaws.com", false));
	CHECK(advice("*.core.windows.net", false));
	CHECK(!advice("*.github.io", true));
	CHECK(!advice("me.github.io", false));
	CHECK(!advice("*.me.github.io", false));
	CHECK(!advice("*.example.com", false));
	CHECK(!advice("*.hub.io", false));
}
