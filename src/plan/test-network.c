/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-network.c - ports and variables of a sandbox's network */

#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "plan/network.h"
#include "policy/policy.h"

static struct policy *with_hosts(const char *const *hosts)
{
	struct policy *p = policy_new("/", NULL);

	for (; *hosts; hosts++)
		CHECK_INT(policy_add_host(p, HOST_ALLOW, *hosts, NULL,
					  origin_make(NULL, NULL, NULL), NULL),
			  0);
	return p;
}

static void add(struct policy *p, enum string_list list, const char *text)
{
	policy_add_string(p, list, text, origin_make(NULL, NULL, NULL), NULL);
}

TEST(ports_that_rules_name_are_captured_once)
{
	const char *const hosts[] = { "a.test:5432", "b.test", "c.test:5432",
				      "10.0.0.1:99", "127.0.0.1:98",
				      "localhost:97", "[::1]:96", NULL };
	auto_policy struct policy *p = with_hosts(hosts);
	struct network n;

	add(p, LIST_HOST_PORTS, "8080");
	add(p, LIST_PUBLISH, "3000");
	CHECK_INT(network_plan(p, &n, NULL), 0);
	CHECK_INT(n.capture.len, 2);
	CHECK_INT(n.capture.v[0], 5432);
	CHECK_INT(n.capture.v[1], 99);
	CHECK_INT(n.host_ports.v[0], 8080);
	CHECK_INT(n.publish.v[0], 3000);
}

TEST(invalid_and_too_many_ports_are_refused)
{
	const char *const hosts[] = { NULL };
	auto_policy struct policy *p = with_hosts(hosts);
	auto_policy struct policy *q = with_hosts(hosts);
	struct network n;
	struct err err = { 0 };
	char text[8];

	add(p, LIST_HOST_PORTS, "0");
	CHECK_INT(network_plan(p, &n, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "'0' is not a port");
	for (int i = 0; i < NETWORK_PORTS_MAX; i++) {
		snprintf(text, sizeof(text), "%d", 2000 + i);
		add(q, LIST_PUBLISH, text);
	}
	CHECK_INT(network_plan(q, &n, NULL), 0);
	add(q, LIST_PUBLISH, "9999");
	CHECK_INT(network_plan(q, &n, &err), -E2BIG);
}

TEST(own_ports_of_the_gate_cannot_be_captured)
{
	static const char *const own[] = { "53", "1080", "3128" };
	static const enum string_list lists[] = { LIST_HOST_PORTS, LIST_PUBLISH };
	const char *const hosts[] = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(own) * ARRAY_SIZE(lists); i++) {
		auto_policy struct policy *p = with_hosts(hosts);
		struct err err = { 0 };
		struct network n;

		add(p, lists[i % 2], "3129");
		CHECK_INT(network_plan(p, &n, &err), 0);
		add(p, lists[i % 2], own[i / 2]);
		CHECK_INT(network_plan(p, &n, &err), -EINVAL);
		CHECK_CONTAINS(err.msg, own[i / 2]);
	}
}

static void collect(void *arg, const char *name, const char *value)
{
	buf_addf(arg, "%s=%s\n", name, value);
}

static char *variables(const char *const *hosts)
{
	auto_policy struct policy *p = with_hosts(hosts);
	struct buf out = { 0 };

	network_env(p, NULL, true, collect, &out);
	return buf_take(&out);
}

TEST(git_gets_an_ssh_command_if_its_path_needs_no_quotes)
{
	static const char *const bad[] = {
		"cloche", "", "/a b/cloche", "/a'/cloche", "/%h/cloche",
		"/usr/bin/srt", "/a\"/cloche", "/$HOME/cloche", "/caf\303\251/cloche",
	};
	auto_buf struct buf out = { 0 };

	CHECK(network_ssh("/usr/bin/cloche", &out));
	CHECK_STR(buf_str(&out), "ssh -o ControlMaster=no -o ControlPath=none -o UpdateHostKeys=no -o ProxyUseFdpass=yes -o ProxyCommand='/usr/bin/cloche ssh-connect %h %p'");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!network_ssh(bad[i], &out));
}

TEST(proxy_variables_name_the_gates_ports)
{
	const char *const none[] = { NULL };
	const char *const private[] = { "10.1.2.3:80", "nas.local", "localhost",
					"192.168.0.0/24", NULL };
	auto_free char *plain = variables(none);
	auto_free char *at_home = variables(private);

	CHECK_CONTAINS(plain, "HTTPS_PROXY=http://localhost:3128\n");
	CHECK_CONTAINS(plain, "all_proxy=socks5h://localhost:1080\n");
	CHECK_CONTAINS(plain,
		       "NO_PROXY=localhost,127.0.0.1,::1,*.local,.local,"
		       "169.254.0.0/16,10.0.0.0/8,172.16.0.0/12,"
		       "192.168.0.0/16\n");
	CHECK_CONTAINS(at_home,
		       "NO_PROXY=127.0.0.1,::1,169.254.0.0/16,172.16.0.0/12\n");
}

static bool may_go_without(struct policy *p, bool any_port)
{
	auto_buf struct buf out = { 0 };

	network_env(p, NULL, any_port, collect, &out);
	CHECK_CONTAINS(buf_str(&out), "NO_PROXY=");
	CHECK(!strstr(strstr(buf_str(&out), "NO_PROXY="), ",*\nno_proxy="));
	return strstr(strstr(buf_str(&out), "no_proxy="), ",*\n");
}

TEST(clients_without_proxy_support_connect_directly_if_captured)
{
	const char *const name[] = { "good.test", "10.1.2.3", NULL };
	const struct origin origin = origin_make(NULL, NULL, NULL);
	auto_policy struct policy *p = with_hosts(name);

	CHECK(may_go_without(p, true));
	CHECK(!may_go_without(p, false));
	policy_set_number(p, NUMBER_HTTP_PROXY_PORT, 8888, origin);
	CHECK(!may_go_without(p, true));
}

TEST(profile_srt_names_the_proxy_to_all_clients)
{
	const char *const none[] = { NULL };
	auto_policy struct policy *p = with_hosts(none);

	policy_set_profile(p, PROFILE_SRT, origin_make(NULL, NULL, NULL));
	CHECK(!may_go_without(p, true));
}

TEST(profile_srt_names_the_http_proxy_for_everything)
{
	const char *const none[] = { NULL };
	auto_policy struct policy *p = with_hosts(none);
	auto_buf struct buf out = { 0 };

	policy_set_profile(p, PROFILE_SRT, origin_make(NULL, NULL, NULL));
	network_env(p, NULL, true, collect, &out);
	CHECK_CONTAINS(buf_str(&out), "ALL_PROXY=http://localhost:3128\n");
	CHECK_CONTAINS(buf_str(&out), "grpc_proxy=http://localhost:3128\n");
	CHECK_CONTAINS(buf_str(&out), "FTP_PROXY=socks5h://localhost:1080\n");
}

TEST(the_hosts_loopback_is_reached_by_the_proxies_alone)
{
	static const char *const rules[] = { "localhost", "localhost:80",
					     "127.0.0.1:5432", "[::1]" };

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const char *const rule[] = { rules[i], NULL };
		auto_policy struct policy *p = with_hosts(rule);

		CHECK(!may_go_without(p, true));
	}
}

TEST(user_proxy_ports_replace_the_gates)
{
	const char *const none[] = { NULL };
	const struct network_proxies proxies = { .http = 40001, .socks = 7 };
	auto_policy struct policy *p = with_hosts(none);
	auto_buf struct buf out = { 0 };

	network_env(p, &proxies, false, collect, &out);
	CHECK_CONTAINS(buf_str(&out), "HTTPS_PROXY=http://127.0.0.1:40001\n");
	CHECK_CONTAINS(buf_str(&out), "all_proxy=socks5h://127.0.0.1:7\n");
	CHECK_CONTAINS(buf_str(&out), "CLOUDSDK_PROXY_PORT=40001\n");
	CHECK(!strstr(buf_str(&out), "3128") && !strstr(buf_str(&out), "1080"));
	CHECK_CONTAINS(buf_str(&out), "no_proxy=localhost,127.0.0.1,");
}
