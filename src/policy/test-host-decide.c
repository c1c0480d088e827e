/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-host-decide.c - decisions about hosts: deny, allow, strict, ask */

#include "policy/host.h"

#include "base/err.h"
#include "policy/policy.h"
#include "test.h"

static void add(struct policy *p, enum string_list list, const char *text,
		const char *reason, enum scope scope)
{
	const struct source *s = policy_add_source(p, scope, "test", NULL, 0,
						   "/");
	struct err err = { 0 };

	if (policy_add_host(p, list, text, reason, origin_make(s, NULL, NULL),
			    &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
}

static struct host host(const char *text, uint16_t port)
{
	struct host h;

	CHECK_INT(host_parse(text, strlen(text), port, &h), 0);
	return h;
}

static struct host_verdict decide(const struct policy *p, const char *text,
				  uint16_t port, bool may_ask)
{
	const struct host h = host(text, port);
	const struct host_verdict v = host_decide(p, &h, may_ask);

	CHECK(v.reason);
	return v;
}

TEST(an_empty_policy_denies)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	CHECK_INT(decide(p, "a.test", 443, false).decision, HOST_DENIED);
	CHECK_INT(decide(p, "localhost", 443, false).decision, HOST_DENIED);
	CHECK_INT(decide(p, "127.0.0.1", 443, false).decision, HOST_DENIED);
	CHECK_STR(decide(p, "a.test", 443, false).reason,
		  "host is not on the allow list");
	CHECK(!decide(p, "a.test", 443, false).rule);
}

TEST(a_denied_host_is_refused_in_every_spelling)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "*.wild.test", NULL, SCOPE_MANAGED);
	add(p, HOST_ALLOW, "10.0.0.0/8", NULL, SCOPE_MANAGED);
	add(p, HOST_DENY, "bad.wild.test", "ask the owner first", SCOPE_USER);
	add(p, HOST_DENY, "10.9.9.9", NULL, SCOPE_USER);

	CHECK_INT(decide(p, "a.wild.test", 443, true).decision, HOST_ALLOWED);
	CHECK_STR(decide(p, "a.wild.test", 443, true).rule->text,
		  "*.wild.test");
	CHECK_INT(decide(p, "bad.wild.test", 443, true).decision, HOST_DENIED);
	CHECK_INT(decide(p, "BAD.wild.TEST.", 22, true).decision, HOST_DENIED);
	CHECK_STR(decide(p, "bad.wild.test", 443, true).reason,
		  "ask the owner first");
	CHECK_INT(decide(p, "10.1.1.1", 443, true).decision, HOST_ALLOWED);
	CHECK_INT(decide(p, "10.9.9.9", 443, true).decision, HOST_DENIED);
	CHECK_INT(decide(p, "::ffff:10.9.9.9", 443, true).decision,
		  HOST_DENIED);
	CHECK_STR(decide(p, "10.9.9.9", 443, true).reason,
		  "host is on the deny list");
}

TEST(a_rule_with_a_port_applies_to_that_port_only)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "a.test:443", NULL, SCOPE_USER);
	add(p, HOST_DENY, "*:25", NULL, SCOPE_USER);
	CHECK_INT(decide(p, "a.test", 443, false).decision, HOST_ALLOWED);
	CHECK_INT(decide(p, "a.test", 22, false).decision, HOST_DENIED);
	CHECK_INT(decide(p, "b.a.test", 443, false).decision, HOST_DENIED);
	CHECK_INT(decide(p, "a.test", 0, false).decision, HOST_ALLOWED);
	CHECK_INT(decide(p, "a.test", 25, false).decision, HOST_DENIED);
}

TEST(a_decision_names_the_rule_with_the_port)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	struct host a = host("ssh.a.test", 443), b = host("ssh.a.test", 80),
		    c = host("b.a.test", 443);

	add(p, HOST_ALLOW, "*.a.test", NULL, SCOPE_USER);
	CHECK(!host_port_is_named(p, &a));
	add(p, HOST_ALLOW, "ssh.a.test:443", NULL, SCOPE_USER);
	CHECK(host_port_is_named(p, &a));
	CHECK(!host_port_is_named(p, &b));
	CHECK(!host_port_is_named(p, &c));
	/* Only the administrator's rules count */
	policy_set_flag(p, FLAG_MANAGED_DOMAINS_ONLY, true,
			origin_make(NULL, NULL, NULL));
	CHECK(!host_port_is_named(p, &a));
}

TEST(unknown_hosts_are_asked_about_unless_the_policy_is_strict)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	auto_policy struct policy *q = policy_new("/", NULL);

	add(p, HOST_ALLOW, "a.test", NULL, SCOPE_USER);
	CHECK_INT(decide(p, "b.test", 443, true).decision, HOST_ASK);
	CHECK_INT(decide(p, "b.test", 443, false).decision, HOST_DENIED);
	CHECK_INT(decide(p, "a.test", 443, true).decision, HOST_ALLOWED);
	add(p, HOST_DENY, "b.test", NULL, SCOPE_USER);
	CHECK_INT(decide(p, "b.test", 443, true).decision, HOST_DENIED);

	add(q, HOST_ALLOW, "a.test", NULL, SCOPE_USER);
	policy_set_flag(q, FLAG_STRICT_ALLOWLIST, true, (struct origin){ 0 });
	CHECK_INT(decide(q, "b.test", 443, true).decision, HOST_DENIED);
	CHECK_INT(decide(q, "a.test", 443, true).decision, HOST_ALLOWED);
}

TEST(under_managed_domains_only_other_scopes_neither_allow_nor_ask)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "a.test", NULL, SCOPE_MANAGED);
	add(p, HOST_ALLOW, "b.test", NULL, SCOPE_FLAG);
	add(p, HOST_ALLOW, "10.0.0.0/8", NULL, SCOPE_LOCAL);
	add(p, HOST_DENY, "c.test", NULL, SCOPE_PROJECT);
	CHECK_INT(decide(p, "b.test", 443, true).decision, HOST_ALLOWED);

	policy_set_flag(p, FLAG_MANAGED_DOMAINS_ONLY, true,
			(struct origin){ 0 });
	CHECK_INT(decide(p, "a.test", 443, true).decision, HOST_ALLOWED);
	CHECK_INT(decide(p, "b.test", 443, true).decision, HOST_DENIED);
	CHECK_INT(decide(p, "c.test", 443, true).decision, HOST_DENIED);
	CHECK_INT(decide(p, "d.test", 443, true).decision, HOST_DENIED);
	CHECK(!host_address_is_named(p, &(struct host){
		.kind = HOST_IPV4, .address = { 10, 1, 1, 1 }, .port = 1 }));
}

TEST(addresses_are_matched_by_literals_and_ranges_only)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	struct host h;

	add(p, HOST_ALLOW, "*.wild.test", NULL, SCOPE_USER);
	add(p, HOST_ALLOW, "127.0.0.1:5432", NULL, SCOPE_USER);
	add(p, HOST_ALLOW, "10.0.0.0/8", NULL, SCOPE_USER);
	h = host("127.0.0.1", 5432);
	CHECK(host_address_is_named(p, &h));
	h = host("127.0.0.1", 80);
	CHECK(!host_address_is_named(p, &h));
	h = host("10.2.3.4", 80);
	CHECK(host_address_is_named(p, &h));
	h = host("a.wild.test", 80);
	CHECK(!host_address_is_named(p, &h));
}

TEST(resolved_addresses_are_checked_against_both_deny_lists)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	struct host h = host("192.0.2.7", 443);

	add(p, HOST_DENY, "192.0.2.0/24", NULL, SCOPE_USER);
	add(p, HOST_DENY, "a.test", NULL, SCOPE_USER);
	policy_add_string(p, LIST_DENIED_ADDRESSES, "fd00::/8",
			  (struct origin){ 0 }, NULL);
	CHECK(host_address_is_denied(p, &h));
	h = host("192.0.3.7", 443);
	CHECK(!host_address_is_denied(p, &h));
	h = host("fd12::1", 443);
	CHECK(host_address_is_denied(p, &h));
	h = host("a.test", 443);
	CHECK(!host_address_is_denied(p, &h));
}
