/* SPDX-License-Identifier: Apache-2.0 */
/* net/search.c - names that a program's C library makes up */

#include "net/search.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "policy/host.h"

enum { RESOLV_CONF_MAX = 64 << 10 };

#define BLANK " \t"

static void keep(struct search *ret, const char *p, size_t n)
{
	ret->text[0] = '\0';
	if (n >= sizeof(ret->text))
		return;
	memcpy(ret->text, p, n);
	ret->text[n] = '\0';
}

/* Of several lines the last one counts */
void search_parse(struct search *ret, const char *text, const char *hostname)
{
	const char *dot = strchr(hostname, '.');

	keep(ret, dot ? dot + 1 : "", dot ? strlen(dot + 1) : 0);
	while (text && *text) {
		const size_t word = strcspn(text, BLANK "\n");
		const size_t line = strcspn(text, "\n");

		if (word == 6 && (!strncmp(text, "search", 6) ||
				  !strncmp(text, "domain", 6)))
			keep(ret, text + word, line - word);
		text += line;
		text += *text == '\n';
	}
}

void search_read(struct search *ret)
{
	auto_buf struct buf text = { 0 };
	char name[HOST_NAME_MAX + 1] = "";

	(void)gethostname(name, sizeof(name) - 1);
	(void)fs_read(AT_FDCWD, "/etc/resolv.conf", RESOLV_CONF_MAX, &text,
		      NULL);
	search_parse(ret, buf_str(&text), name);
}

static bool has_domain(const char *name, const char *domain, size_t n)
{
	const size_t len = strlen(name);

	return n && len > n + 1 && name[len - n - 1] == '.' &&
	       !strncasecmp(name + len - n, domain, n);
}

bool search_next(const struct search *search, size_t *at,
		 const struct host *name, struct host *ret)
{
	while (search->text[*at]) {
		const char *domain;
		size_t n;

		*at += strspn(search->text + *at, BLANK);
		domain = search->text + *at;
		n = strcspn(domain, BLANK);
		*at += n;
		if (n && domain[n - 1] == '.')
			n--;
		if (name->kind == HOST_NAME && has_domain(name->name, domain, n) &&
		    host_parse(name->name, strlen(name->name) - n - 1,
			       name->port, ret) == 0)
			return true;
	}
	return false;
}
