/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/protocol.c - git's credential protocol (pure) */

#include "cli/secret/protocol.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "secret/bytes.h"

const char *attribute_name(enum attribute attribute)
{
	static const char *const names[] = {
#define ATTRIBUTE(id, name) name,
#include "cli/secret/attributes.def"
#undef ATTRIBUTE
	};

	return names[attribute];
}

static bool is_utf8(struct span s)
{
	for (size_t i = 0; i < s.n;) {
		const size_t n = text_utf8_len(s.p + i);

		if (!n || i + n > s.n)
			return false;
		i += n;
	}
	return true;
}

/* One line without its end */
static int parse_line(struct span line, struct git_credential *ret,
		      struct err *err)
{
	const char *equals = memchr(line.p, '=', line.n);
	const size_t key = equals ? (size_t)(equals - line.p) : 0;
	const struct span value = { line.p + key + 1, line.n - key - 1 };

	if (!key)
		return fail(err, -EINVAL, "a line without key=value");
	if (!is_utf8(line))
		return fail(err, -EINVAL, "a line that is not UTF-8");
	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		const char *name = attribute_name((enum attribute)i);

		if (strlen(name) != key || memcmp(name, line.p, key) != 0)
			continue;
		if (ret->of[i].p)
			return fail(err, -EINVAL, "%s stands there twice",
				    name);
		ret->of[i] = value;
	}
	return 0;
}

int credential_parse(struct span input, struct git_credential *ret,
		     struct err *err)
{
	struct git_credential c = { 0 };

	if (memchr(input.p, '\0', input.n) || memchr(input.p, '\r', input.n))
		return fail(err, -EINVAL,
			    "a carriage return or a NUL byte in a credential is refused");
	while (input.n) {
		const char *end = memchr(input.p, '\n', input.n);
		const size_t n = end ? (size_t)(end - input.p) : input.n;
		int r;

		if (!n)
			break;
		r = parse_line((struct span){ input.p, n }, &c, err);
		if (r < 0)
			return r;
		input.p += n + (end != NULL);
		input.n -= n + (end != NULL);
	}
	if (!c.of[ATTRIBUTE_PROTOCOL].n || !c.of[ATTRIBUTE_HOST].n)
		return fail(err, -EINVAL,
			    "a credential without a protocol or a host is refused");
	*ret = c;
	return 0;
}

static bool same(struct span want, struct span entry, const char *name)
{
	auto_bytes struct bytes have = { 0 };

	return doc_find_string(entry, name, &have) &&
	       bytes_same(want.p, want.n, have.p, have.len);
}

bool credential_matches(const struct git_credential *want, struct span entry,
			bool password)
{
	const int last = password ? ATTRIBUTE_PASSWORD : ATTRIBUTE_USERNAME;

	for (int i = ATTRIBUTE_PROTOCOL; i <= last; i++) {
		const char *name = attribute_name((enum attribute)i);

		if (want->of[i].p && !same(want->of[i], entry, name))
			return false;
	}
	return true;
}

/* What separates the parts of the name must not come out of one of them */
static void add_part(struct bytes *ret, struct span part, const char *escape)
{
	for (size_t i = 0; i < part.n; i++) {
		if (part.p[i] == '%' || strchr(escape, part.p[i])) {
			bytes_addc(ret, '%');
			bytes_add_hex(ret, part.p + i, 1);
		} else {
			bytes_addc(ret, part.p[i]);
		}
	}
}

void credential_name(const struct git_credential *c, struct bytes *ret)
{
	bytes_adds(ret, "git:");
	add_part(ret, c->of[ATTRIBUTE_PROTOCOL], ":/@ ");
	bytes_adds(ret, "://");
	if (c->of[ATTRIBUTE_USERNAME].p) {
		add_part(ret, c->of[ATTRIBUTE_USERNAME], ":/@ .");
		bytes_addc(ret, '@');
	}
	add_part(ret, c->of[ATTRIBUTE_HOST], "/@ ");
	if (c->of[ATTRIBUTE_PATH].p) {
		bytes_addc(ret, '/');
		add_part(ret, c->of[ATTRIBUTE_PATH], " ");
	}
}

void credential_entry(const struct git_credential *c, struct bytes *ret)
{
	doc_open(ret);
	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		if (c->of[i].p)
			doc_add_string(ret, attribute_name((enum attribute)i),
				       c->of[i].p, c->of[i].n);
	}
	doc_close(ret);
}
