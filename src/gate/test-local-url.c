/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-local-url.c - URLs on the proxy's own port that lead to the host of a secret */

#include "gate/local-url.h"

#include <string.h>

#include "base/buf.h"
#include "gate/bound-secret.h"
#include "policy/host.h"
#include "test.h"

static char one[] = "ONE", two[] = "TWO", three[] = "THREE", url[] = "URL";
static char first[] = "api.example.org", other[] = "other.example.org:8443";
static char wide[] = "*.example.org";
static char *first_hosts[] = { first, wide }, *other_hosts[] = { other };
static char *wide_hosts[] = { wide };
static struct bound_secret rows[] = {
	{ .name = one, .url = url, .hosts = first_hosts, .n_hosts = 2 },
	{ .name = two, .url = url, .hosts = other_hosts, .n_hosts = 1 },
	{ .name = three, .hosts = wide_hosts, .n_hosts = 1 },
};
static const struct bound_secrets secrets = { .v = rows, .len = 3 };

static const char *written(const char *host, uint16_t port, const char *head)
{
	static struct buf out;
	struct host at;

	out.len = 0;
	CHECK_INT(host_parse(host, strlen(host), port, &at), 0);
	return local_url_write(&secrets, &at, head, strlen(head), &out)
		       ? buf_str(&out)
		       : NULL;
}

TEST(a_local_url_is_rewritten_for_its_host)
{
	CHECK_STR(written("api.example.org", 443,
			  "GET /.cloche/ONE/v1/x?q HTTP/1.1\r\n"
			  "hOsT: localhost:3128\r\nX-Host: a\r\n\r\n"),
		  "GET /v1/x?q HTTP/1.1\r\nHost: api.example.org\r\n"
		  "X-Host: a\r\n\r\n");
	CHECK_STR(written("api.example.org", 443,
			  "GET /.cloche/ONE?q HTTP/1.1\r\n\r\n"),
		  "GET /?q HTTP/1.1\r\n\r\n");
	CHECK_STR(written("other.example.org", 8443,
			  "GET /.cloche/TWO HTTP/1.1\r\nHost: x\r\n\r\n"),
		  "GET / HTTP/1.1\r\nHost: other.example.org:8443\r\n\r\n");
}

TEST(a_local_url_of_another_host_is_refused)
{
	CHECK(!written("api.example.org", 443,
		       "GET /.cloche/TWO/ HTTP/1.1\r\n\r\n"));
	CHECK(!written("other.example.org", 443,
		       "GET /.cloche/TWO/ HTTP/1.1\r\n\r\n"));
	CHECK(!written("api.example.org", 443, "GET /x HTTP/1.1\r\n\r\n"));
}

TEST(only_a_secret_with_a_url_setting_has_a_local_url)
{
	static const char *const none[] = {
		"",
		"GET",
		"GET /.cloche/",
		"GET /.cloche/ONE",
		"GET /.cloche/THREE/ HTTP/1.1\r\n",
		"GET /.cloche/ON/ HTTP/1.1\r\n",
		"GET /.cloche/ONES/ HTTP/1.1\r\n",
		"GET http://x/.cloche/ONE/ HTTP/1.1\r\n",
		"GET /x/.cloche/ONE/ HTTP/1.1\r\n",
	};
	struct local_url found;
	struct host host;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK(!local_url_find(&secrets, none[i], strlen(none[i]),
				      &found));
	CHECK(local_url_find(&secrets, "GET /.cloche/ONE/", 17, &found));
	CHECK(found.secret == &rows[0]);
	CHECK(local_url_host(&rows[1], &host) && host.port == 8443);
	CHECK(!local_url_host(&rows[2], &host));
}
