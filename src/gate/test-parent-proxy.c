/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-parent-proxy.c - the proxy that the gate connects through */

#include "test.h"

#include <errno.h>

#include "base/err.h"
#include "gate/parent-proxy.h"
#include "policy/policy.h"

static struct policy *with(const char *http, const char *https,
			   const char *no_proxy)
{
	struct policy *p = policy_new("/", NULL);

	if (http)
		policy_set_text(p, TEXT_PARENT_HTTP, http,
				origin_make(NULL, NULL, NULL));
	if (https)
		policy_set_text(p, TEXT_PARENT_HTTPS, https,
				origin_make(NULL, NULL, NULL));
	if (no_proxy)
		policy_set_text(p, TEXT_PARENT_NO_PROXY, no_proxy,
				origin_make(NULL, NULL, NULL));
	return p;
}

static const char *way(const struct parent_proxies *parents, const char *name,
		       uint16_t port)
{
	const struct parent_proxy *p;
	struct host h;

	CHECK_INT(host_parse(name, strlen(name), port, &h), 0);
	p = parent_proxies_for(parents, &h, false);
	return p ? p->host.name : "direct";
}

TEST(a_proxy_url_is_split_into_host_port_and_credentials)
{
	auto_policy struct policy *p = with("http://me:p%40s%3as@proxy.test:8080/",
					    NULL, NULL);
	struct parent_proxies parents;

	CHECK_INT(parent_proxies_init(&parents, p, NULL), 0);
	CHECK_STR(parents.http.host.name, "proxy.test");
	CHECK_INT(parents.http.host.port, 8080);
	CHECK_STR(parents.http.authorization, "Basic bWU6cEBzOnM=");
	CHECK_STR(way(&parents, "a.test", 443), "proxy.test");
	parent_proxies_done(&parents);
}

TEST(an_empty_user_is_sent_as_empty_credentials)
{
	auto_policy struct policy *p = with("http://@proxy.test:8080", NULL,
					    NULL);
	struct parent_proxies parents;

	CHECK_INT(parent_proxies_init(&parents, p, NULL), 0);
	CHECK_STR(parents.http.host.name, "proxy.test");
	CHECK_STR(parents.http.authorization, "Basic ");
	parent_proxies_done(&parents);
}

TEST(invalid_proxy_urls_are_refused_without_printing_a_password)
{
	static const char *const bad[] = {
		"https://u:secret@p.test:1", "socks5://u:secret@p.test",
		"http://u:secret@p.test:1/path", "http://u:secret@p test",
		"http://u:secret@p.test:0", "http://",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		auto_policy struct policy *p = with(bad[i], NULL, NULL);
		struct parent_proxies parents;
		struct err err = { 0 };

		CHECK_INT(parent_proxies_init(&parents, p, &err), -EINVAL);
		CHECK(!strstr(err.msg, "secret"));
		CHECK(!parents.http.host.port && !parents.http.authorization);
	}
}

TEST(no_proxy_entries_select_direct_connections)
{
	auto_policy struct policy *p = with("web.test:1", "tls.test:2",
		"corp.test, .inner.test,*.deep.test,10.0.0.0/8, 192.0.2.7");
	struct parent_proxies parents;
	struct host h;

	CHECK_INT(parent_proxies_init(&parents, p, NULL), 0);
	CHECK_STR(way(&parents, "a.test", 80), "web.test");
	CHECK_STR(way(&parents, "a.test", 443), "tls.test");
	CHECK_STR(way(&parents, "a.test", 22), "tls.test");
	CHECK_INT(host_parse("a.test", 6, 8080, &h), 0);
	CHECK_STR(parent_proxies_for(&parents, &h, true)->host.name, "web.test");
	CHECK_STR(parent_proxies_for(&parents, &h, false)->host.name, "tls.test");
	CHECK_STR(way(&parents, "corp.test", 443), "direct");
	CHECK_STR(way(&parents, "x.corp.test", 443), "direct");
	CHECK_STR(way(&parents, "xcorp.test", 443), "tls.test");
	CHECK_STR(way(&parents, "a.inner.test", 80), "direct");
	CHECK_STR(way(&parents, "a.deep.test", 80), "direct");
	CHECK_STR(way(&parents, "10.1.2.3", 80), "direct");
	CHECK_STR(way(&parents, "192.0.2.7", 80), "direct");
	CHECK_STR(way(&parents, "192.0.2.8", 80), "web.test");
	CHECK_STR(way(&parents, "localhost", 80), "direct");
	CHECK_STR(way(&parents, "127.0.0.1", 80), "direct");
	CHECK_STR(way(&parents, "::1", 80), "direct");
	parent_proxies_done(&parents);
}
