/* SPDX-License-Identifier: Apache-2.0 */
/* gate/fuzz-local-url.c - heads of requests for local URLs, as their host gets them */

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz.h"
#include "gate/bound-secret.h"
#include "gate/local-url.h"
#include "policy/host.h"

static char name[] = "TOKEN", other[] = "OTHER", url[] = "BASE_URL";
static char api[] = "api.example.org", wild[] = "*.example.org";
static char *first[] = { api }, *second[] = { wild };
static struct bound_secret rows[] = {
	{ .name = name, .hosts = first, .n_hosts = 1, .url = url },
	{ .name = other, .hosts = second, .n_hosts = 1, .url = url },
};
static const struct bound_secrets secrets = { .v = rows, .len = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request *q = mem_zalloc(sizeof(*q));
	char *p = mem_alloc(size ? size : 1); /* Exactly, for the sanitizer */
	auto_buf struct buf out = { 0 };
	struct local_url found;
	const char *why = NULL;
	struct host host;

	memcpy(p, data, size);
	fuzz_want(local_url_host(&rows[0], &host) &&
		  !local_url_host(&rows[1], &host));
	(void)local_url_host(&rows[0], &host);
	if (local_url_find(&secrets, p, size, &found))
		fuzz_want(found.at + found.n < size &&
			  !memcmp(p + found.at, LOCAL_URL_PREFIX,
				  strlen(LOCAL_URL_PREFIX)) &&
			  !memcmp(p + found.at + strlen(LOCAL_URL_PREFIX),
				  found.secret->name, strlen(found.secret->name)));
	if (local_url_write(&secrets, &host, p, size, &out)) {
		fuzz_want(found.secret == &rows[0]);
		fuzz_want(!memcmp(out.p, p, found.at) && out.p[found.at] == '/');
		/* Whatever it named before */
		if (!http_request_parse(out.p, out.len, &host, q, &why))
			fuzz_want(host_is_same(&q->vhost, &host));
	}
	free(p);
	free(q);
	return 0;
}
