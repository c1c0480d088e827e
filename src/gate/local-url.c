/* SPDX-License-Identifier: Apache-2.0 */
/* gate/local-url.c - URLs on the proxy's own port that lead to the host of a secret */

#include "gate/local-url.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "gate/bound-secret.h"
#include "policy/host.h"

bool local_url_find(const struct bound_secrets *secrets, const char *p,
		    size_t n, struct local_url *ret)
{
	static const char prefix[] = LOCAL_URL_PREFIX;
	const char *blank = memchr(p, ' ', n), *end = p + n, *name;
	size_t len = 0;

	if (!blank || (size_t)(end - blank) <= sizeof(prefix) ||
	    memcmp(blank + 1, prefix, sizeof(prefix) - 1) != 0)
		return false;
	name = blank + sizeof(prefix);
	while (name + len < end && !strchr("/? \r\n", name[len]))
		len++;
	if (name + len == end)
		return false;
	for (size_t i = 0; i < secrets->len; i++) {
		const struct bound_secret *s = &secrets->v[i];

		if (!s->url || strlen(s->name) != len ||
		    memcmp(s->name, name, len) != 0)
			continue;
		*ret = (struct local_url){
			.secret = s,
			.at = (size_t)(blank + 1 - p),
			.n = sizeof(prefix) - 1 + len,
		};
		return true;
	}
	return false;
}

bool local_url_host(const struct bound_secret *secret, struct host *ret)
{
	const char *text = secret->hosts[0];

	return !strchr(text, '*') &&
	       !host_parse_authority(text, strlen(text), 443, ret) &&
	       ret->kind == HOST_NAME;
}

/* The lines from @p on, with @host in each that names one */
static void add_fields(const char *p, size_t n, const struct host *host,
		       struct buf *out)
{
	while (n) {
		const char *feed = memchr(p, '\n', n);
		const size_t line = feed ? (size_t)(feed + 1 - p) : n;

		if (line > 5 && !strncasecmp(p, "Host:", 5)) {
			buf_adds(out, "Host: ");
			host_format(host, 443, out);
			buf_adds(out, "\r\n");
		} else {
			buf_add(out, p, line);
		}
		p += line;
		n -= line;
	}
}

bool local_url_write(const struct bound_secrets *secrets,
		     const struct host *host, const char *p, size_t n,
		     struct buf *out)
{
	struct local_url url;
	struct host meant;

	if (!local_url_find(secrets, p, n, &url) ||
	    !local_url_host(url.secret, &meant) ||
	    !host_is_same(&meant, host) || meant.port != host->port)
		return false;
	buf_add(out, p, url.at);
	p += url.at + url.n;
	n -= url.at + url.n;
	if (*p != '/')
		buf_addc(out, '/');
	add_fields(p, n, host, out);
	return true;
}
