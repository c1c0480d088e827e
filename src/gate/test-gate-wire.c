/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-gate-wire.c - the policy sent to the gate, and the hosts it reports */

#include "test.h"

#include "base/buf.h"
#include "gate/gate-state.h"
#include "gate/gate-wire.h"
#include "policy/host.h"
#include "policy/policy.h"

static struct host_verdict decide(const struct policy *p, const char *name,
				  uint16_t port)
{
	struct host h;

	CHECK_INT(host_parse(name, strlen(name), port, &h), 0);
	return host_decide(p, &h, true);
}

TEST(a_policy_sent_to_the_gate_decides_like_the_original)
{
	static const char file[] = "{\n  \"deny\": [\"bad.test\"]\n}";
	auto_policy struct policy *p = policy_new("/", NULL), *q = NULL;
	const struct source *source = policy_add_source(p, SCOPE_MANAGED,
		"/etc/x.json", file, sizeof(file) - 1, NULL);
	auto_buf struct buf text = { 0 }, where = { 0 };
	struct host_verdict v;

	policy_add_host(p, HOST_ALLOW, "*.good.test:443", NULL,
			origin_make(source, NULL, NULL), NULL);
	policy_add_host(p, HOST_DENY, "bad.test", "because",
			origin_make(source, "deny[0]", NULL), NULL);
	policy_add_string(p, LIST_DENIED_ADDRESSES, "192.0.2.0/24",
			  origin_make(NULL, NULL, NULL), NULL);
	policy_set_flag(p, FLAG_MANAGED_DOMAINS_ONLY, true,
			origin_make(NULL, NULL, NULL));
	policy_set_number(p, NUMBER_HTTP_PROXY_PORT, 8888,
			  origin_make(NULL, NULL, NULL));
	policy_set_text(p, TEXT_PARENT_HTTP, "http://p.test:1",
			origin_make(NULL, NULL, NULL));
	gate_policy_write(p, NULL, &text);
	q = gate_policy_read(text.p, text.len);
	CHECK(q);
	CHECK_INT(decide(q, "a.good.test", 443).decision, HOST_ALLOWED);
	CHECK_INT(decide(q, "a.good.test", 80).decision, HOST_DENIED);
	CHECK_INT(decide(q, "else.test", 80).decision, HOST_DENIED);
	v = decide(q, "bad.test", 80);
	CHECK_STR(v.reason, "because");
	origin_describe(&v.rule->origin, &where);
	CHECK_CONTAINS(buf_str(&where), "/etc/x.json:2");
	CHECK_CONTAINS(buf_str(&where), "deny[0]");
	CHECK_STR(q->lists[LIST_DENIED_ADDRESSES].v[0].text, "192.0.2.0/24");
	CHECK_INT(q->numbers[NUMBER_HTTP_PROXY_PORT].value, 8888);
	CHECK_STR(q->texts[TEXT_PARENT_HTTP].value, "http://p.test:1");
}

TEST(malformed_policies_are_refused)
{
#define REST ",[],[false,false],[0,0],[null,null,null]]"
	static const char *const bad[] = {
		"", "{}", "[]", "[[],[]]", "[[],1" REST,
		"[[[\"*\",null,1,\"f\",null]],[]" REST,
		"[[[null,null,1,\"f\",null]],[]" REST,
		"[[[\"a.b\",null,99,\"f\",null]],[]" REST,
		"[[],[],[],[false],[0,0],[null,null,null]]",
	};
	static const char good[] = "[[[\"a.b\",null,1,\"f\",null]],[]" REST;
	struct policy *p = gate_policy_read(good, strlen(good));

	CHECK(p);
	policy_unref(p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!gate_policy_read(bad[i], strlen(bad[i])));
}

static void count(struct gate *gate, const char *name, uint16_t port, uint64_t bytes)
{
	struct host host;

	CHECK_INT(host_parse(name, strlen(name), port, &host), 0);
	gate_count(gate, &host, 1, bytes, 2 * bytes);
}

TEST(reached_hosts_are_counted_up_to_a_limit)
{
	static struct gate gate;
	auto_buf struct buf text = { 0 }, few = { 0 };
	char name[HOST_NAME_MAX_LEN];
	uint64_t sum = 0;

	count(&gate, "a.test", 443, 10);
	count(&gate, "a.test", 443, 1);
	count(&gate, "a.test", 80, 5);
	count(&gate, "2001:db8::1", 443, 7);
	gate_hosts_text(&gate, &few);
	CHECK_STR(buf_str(&few), "a.test:443=2/11/22 a.test:80=1/5/10 [2001:db8::1]:443=1/7/14");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "host-%d.with-a-name-that-is-as-long-as-labels-of-names-may-be.test", i);
		count(&gate, name, 443, 100);
	}
	gate_hosts_text(&gate, &text);
	CHECK(text.len < VIOLATION_TEXT_MAX);
	CHECK_CONTAINS(buf_str(&text), " others=");
	for (const char *at = buf_str(&text); (at = strchr(at, '='));)
		sum += strtoull(++at, NULL, 10);
	CHECK_INT(sum, 1004);
}
