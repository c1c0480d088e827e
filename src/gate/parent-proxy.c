/* SPDX-License-Identifier: Apache-2.0 */
/* gate/parent-proxy.c - the proxy that the gate connects through: a company's, or the host's */

#include "gate/parent-proxy.h"

#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "gate/address.h"
#include "policy/policy.h"

/* "user:password" of a URL, percent signs undone, as Basic credentials */
static char *authorization(const char *p, size_t n)
{
	auto_free char *plain = mem_alloc(n + 1);	/* At most as long */
	static const char basic[] = "Basic ";
	const size_t size = sizeof(basic) + (n + 2) / 3 * 4;
	char *out = mem_alloc(size);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		const int high = p[i] == '%' && i + 2 < n
			? text_hex_digit(p[i + 1]) : -1;
		const int low = high >= 0 ? text_hex_digit(p[i + 2]) : -1;

		plain[len++] = low < 0 ? p[i] : (char)(high << 4 | low);
		i += low < 0 ? 0 : 2;
	}
	memcpy(out, basic, sizeof(basic));
	if (b64_ntop((const unsigned char *)plain, len,
		     out + strlen(basic), size - strlen(basic)) < 0)
		abort();	/* The size was computed */
	explicit_bzero(plain, len);
	return out;
}

static int read_proxy(struct parent_proxy *ret, const struct policy *policy,
		      enum policy_text text, struct err *err)
{
	const char *url = policy->texts[text].value, *user;
	size_t n;
	int r;

	if (!url || !*url)
		return 0;
	r = proxy_parse(url, &ret->host, &user, &n, err);
	if (r == 0 && user)
		ret->authorization = authorization(user, n);
	return r;
}

int parent_proxies_init(struct parent_proxies *ret, const struct policy *policy,
			struct err *err)
{
	const char *no_proxy = policy->texts[TEXT_PARENT_NO_PROXY].value;
	int r;

	*ret = (struct parent_proxies){ 0 };
	r = read_proxy(&ret->http, policy, TEXT_PARENT_HTTP, err);
	if (!r)
		r = read_proxy(&ret->https, policy, TEXT_PARENT_HTTPS, err);
	if (r < 0) {
		parent_proxies_done(ret);
		return r;
	}
	ret->no_proxy = no_proxy ? mem_strdup(no_proxy) : NULL;
	return 0;
}

static void forget_proxy(struct parent_proxy *p)
{
	if (p->authorization)
		explicit_bzero(p->authorization, strlen(p->authorization));
	free(p->authorization);
}

void parent_proxies_done(struct parent_proxies *parents)
{
	forget_proxy(&parents->http);
	forget_proxy(&parents->https);
	free(parents->no_proxy);
	*parents = (struct parent_proxies){ 0 };
}

/* One entry of noProxy: "*", an address or range, or the end of a name */
static bool covers(const char *p, size_t n, const struct host *host)
{
	struct host_range range;
	const size_t len = strlen(host->name);

	if (n == 1 && *p == '*')
		return true;
	if (host->kind != HOST_NAME)
		return !host_range_parse(p, n, &range) &&
		       host_range_has(&range, host);
	if (n > 1 && *p == '*') {
		p++;
		n--;
	}
	if (n && *p == '.') {
		p++;
		n--;
	}
	return n && n <= len && !strncasecmp(host->name + len - n, p, n) &&
	       (n == len || host->name[len - n - 1] == '.');
}

static bool is_excepted(const char *list, const struct host *host)
{
	for (int i = 0; list && *list && i < PARENT_NO_PROXY_MAX; i++) {
		size_t n;

		list += strspn(list, ", \t");
		n = strcspn(list, ", \t");
		if (n && covers(list, n, host))
			return true;
		list += n;
	}
	return false;
}

const struct parent_proxy *parent_proxies_for(const struct parent_proxies *parents,
					      const struct host *host, bool plain)
{
	const struct parent_proxy *p = plain || host->port == 80 ? &parents->http
							   : &parents->https;

	if (p == &parents->https && !p->host.port)
		p = &parents->http;
	if (!p->host.port || host_is_localhost(host) ||
	    address_is_loopback(host) ||
	    is_excepted(parents->no_proxy, host))
		return NULL;
	return p;
}
