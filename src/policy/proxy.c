/* SPDX-License-Identifier: Apache-2.0 */
/* policy/proxy.c - where a proxy is */

#include "policy/proxy.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "policy/host.h"

enum { HTTP_PROXY_PORT = 80 };

int proxy_parse(const char *url, struct host *ret_host, const char **ret_user,
		size_t *ret_n, struct err *err)
{
	static const char scheme[] = "http://";
	const char *p = url, *at;
	struct host host;
	size_t n;

	if (!strncasecmp(p, scheme, sizeof(scheme) - 1))
		p += sizeof(scheme) - 1;
	else if (strstr(p, "://"))
		return fail(err, -EINVAL, "only http:// proxies are supported");
	n = strcspn(p, "/?#");
	if (p[n] && strcmp(p + n, "/") != 0)
		return fail(err, -EINVAL,
			    "a path behind the proxy's port means nothing");
	at = memrchr(p, '@', n);
	if (host_parse_authority(at ? at + 1 : p,
				 at ? n - (size_t)(at + 1 - p) : n,
				 HTTP_PROXY_PORT, &host) < 0)
		return fail(err, -EINVAL,
			    "a proxy is a host and a port, as in 'http://proxy.example.com:3128'");
	*ret_host = host;
	*ret_user = at ? p : NULL;
	*ret_n = at ? (size_t)(at - p) : 0;
	return 0;
}
