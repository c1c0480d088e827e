/* SPDX-License-Identifier: Apache-2.0 */
/* base/nsswitch.c - how the C library looks names of hosts up */

#include "base/nsswitch.h"

#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <resolv.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/buf.h"
#include "base/fs.h"

enum { NSSWITCH_MAX = 64 << 10 };

#define BLANK " \t"

static bool is_word(const char *word, size_t n, const char *want)
{
	return strlen(want) == n && !memcmp(word, want, n);
}

/* One line's modules; "[NOTFOUND=return]" is none */
static bool is_line_built_in(const char *p)
{
	for (;;) {
		size_t n;

		p += strspn(p, BLANK);
		if (!*p || *p == '\n' || *p == '#')
			return true;
		if (*p == '[') {
			p += strcspn(p, "]\n");
			p += *p == ']';
			continue;
		}
		n = strcspn(p, BLANK "[#\n");
		if (!is_word(p, n, "files") && !is_word(p, n, "dns"))
			return false;
		p += n;
	}
}

bool nss_is_built_in(const char *text)
{
	const char *p = text;

	while (p && *p) {
		p += strspn(p, BLANK);
		if (is_word(p, strcspn(p, BLANK ":\n"), "hosts")) {
			p += strlen("hosts");
			p += strspn(p, BLANK);
			if (*p == ':' && !is_line_built_in(p + 1))
				return false;
		}
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return true;
}

/* Only what is linked dynamically has an interpreter */
static bool is_static(void)
{
	return !getauxval(AT_BASE);
}

bool nss_will_do(void)
{
	auto_buf struct buf text = { 0 };
	int r;

	if (!is_static())
		return true;
	r = fs_read(AT_FDCWD, "/etc/nsswitch.conf", NSSWITCH_MAX, &text, NULL);
	return r == -ENOENT || (r == 0 && nss_is_built_in(buf_str(&text)));
}

void nss_stay_inside(void)
{
	if (is_static())
		(void)__nss_configure_lookup("hosts", "files dns");
}

int nss_mean(const char *name)
{
	/* Anew: with an option of our own it does not follow the file's changes */
	if (res_init() < 0)
		return -EIO;
	if (strchr(name, '.'))
		_res.options &= ~(unsigned long)RES_DNSRCH;
	else
		_res.options |= RES_DNSRCH;
	return 0;
}
