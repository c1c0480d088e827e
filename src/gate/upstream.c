/* SPDX-License-Identifier: Apache-2.0 */
/* net/parent.c - the proxy behind ours: a company's, or the host's own */

#include "net/parent.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/proxy.h"

static void add_base64(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		const uint32_t v = (uint32_t)p[i] << 16 |
			(i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			(i + 2 < n ? p[i + 2] : 0);

		buf_addc(out, digits[v >> 18 & 63]);
		buf_addc(out, digits[v >> 12 & 63]);
		buf_addc(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
		buf_addc(out, i + 2 < n ? digits[v & 63] : '=');
	}
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "user:password" of a URL, percent signs undone, as Basic credentials */
static char *authorization(const char *p, size_t n)
{
	auto_free char *plain = mem_alloc(n + 1);	/* At most as long */
	struct buf out = { 0 };
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '%' && i + 2 < n && hex(p[i + 1]) >= 0 &&
		    hex(p[i + 2]) >= 0) {
			plain[len++] = (char)(hex(p[i + 1]) << 4 |
					      hex(p[i + 2]));
			i += 2;
		} else {
			plain[len++] = p[i];
		}
	}
	buf_adds(&out, "Basic ");
	add_base64(&out, (const uint8_t *)plain, len);
	explicit_bzero(plain, len);
	return buf_take(&out);
}

static int take(struct parent *ret, const struct policy *policy,
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

int parents_init(struct parents *ret, const struct policy *policy,
		 struct err *err)
{
	const char *no_proxy = policy->texts[TEXT_PARENT_NO_PROXY].value;
	int r;

	*ret = (struct parents){ 0 };
	r = take(&ret->http, policy, TEXT_PARENT_HTTP, err);
	if (!r)
		r = take(&ret->https, policy, TEXT_PARENT_HTTPS, err);
	if (r < 0) {
		parents_done(ret);
		return r;
	}
	ret->no_proxy = no_proxy ? mem_strdup(no_proxy) : NULL;
	return 0;
}

static void forget(struct parent *p)
{
	if (p->authorization)
		explicit_bzero(p->authorization, strlen(p->authorization));
	free(p->authorization);
}

void parents_done(struct parents *parents)
{
	forget(&parents->http);
	forget(&parents->https);
	free(parents->no_proxy);
	*parents = (struct parents){ 0 };
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

static bool is_loopback(const struct host *host)
{
	static const uint8_t one[16] = { [15] = 1 };

	return host_is_localhost(host) ||
	       (host->kind == HOST_IPV4 && host->address[0] == 127) ||
	       (host->kind == HOST_IPV6 && !memcmp(host->address, one, 16));
}

const struct parent *parents_for(const struct parents *parents,
				 const struct host *host, bool plain)
{
	const struct parent *p = plain || host->port == 80 ? &parents->http
							   : &parents->https;

	if (p == &parents->https && !p->host.port)
		p = &parents->http;
	if (!p->host.port || is_loopback(host) ||
	    is_excepted(parents->no_proxy, host))
		return NULL;
	return p;
}
