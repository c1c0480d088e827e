/* SPDX-License-Identifier: Apache-2.0 */
/* secret/name.c - what a secret, its value and its service may be called */

#include "secret/name.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/sha256.h"

static const char *byte_name(unsigned char c)
{
	switch (c) {
	case '\0':
		return "a NUL byte";
	case '\n':
		return "a line feed";
	case '\r':
		return "a carriage return";
	default:
		return "a control character";
	}
}

/* It would be shown as something else: a control character, or one that is not
 * seen and reorders what is
 */
static bool is_escaped(const char *p)
{
	const char *next = p;
	char shown[5];

	return *p != '\\' && text_escape_char(&next, shown) && *shown == '\\';
}

static bool has_dotdot(const char *name)
{
	for (const char *p = name; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

int name_check(const char *name, size_t n, struct err *err)
{
	if (!n)
		return fail(err, -EINVAL, "a secret needs a name");
	if (n > NAME_MAX_BYTES)
		return fail(err, -EINVAL, "a name has at most %d bytes",
			    NAME_MAX_BYTES);
	for (size_t i = 0; i < n;) {
		const unsigned char c = (unsigned char)name[i];
		const size_t len = text_utf8_len(name + i);

		if (c < 0x20 || c == 0x7f)
			return fail(err, -EINVAL,
				    "the name holds %s at byte %zu",
				    byte_name(c), i);
		if (!len)
			return fail(err, -EINVAL,
				    "the name is not UTF-8 at byte %zu", i);
		if (is_escaped(name + i))
			return fail(err, -EINVAL,
				    "the name holds an invisible character at byte %zu",
				    i);
		i += len;
	}
	if (name[0] == ' ' || name[n - 1] == ' ')
		return fail(err, -EINVAL,
			    "the name begins or ends with a blank");
	if (has_dotdot(name))
		return fail(err, -EINVAL, "the name holds '..' as a component");
	return 0;
}

int value_check(const char *value, size_t n, struct err *err)
{
	if (!n)
		return fail(err, -EINVAL, "the value is empty");
	if (n > VALUE_MAX_BYTES)
		return fail(err, -EFBIG, "the value is larger than %d bytes",
			    VALUE_MAX_BYTES);
	for (size_t i = 0; i < n;) {
		const unsigned char c = (unsigned char)value[i];
		const size_t len = text_utf8_len(value + i);

		if (c == '\r' || c == '\n' || c == '\0')
			return fail(err, -EINVAL,
				    "the value holds %s at byte %zu; encode it first, for instance with base64 -w0",
				    byte_name(c), i);
		if (!len)
			return fail(err, -EINVAL,
				    "the value is not UTF-8 at byte %zu; encode it first, for instance with base64 -w0",
				    i);
		i += len;
	}
	return 0;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

int service_check(const char *service, struct err *err)
{
	const size_t n = strlen(service);

	for (size_t i = 0; i < n; i++) {
		if (!is_plain(service[i]))
			return fail(err, -EINVAL,
				    "service '%s': only letters, digits, '-', '_' and '.'",
				    service);
	}
	if (!n || n > SERVICE_MAX_BYTES || service[0] == '.')
		return fail(err, -EINVAL,
			    "service '%s': 1 to %d characters, the first not a '.'",
			    service, SERVICE_MAX_BYTES);
	return 0;
}

void service_full(const char *service, const char *dir, const char *usual,
		  char ret[static SERVICE_SIZE])
{
	unsigned char sum[SHA256_BYTES];

	if (usual && !strcmp(dir, usual)) {
		(void)snprintf(ret, SERVICE_SIZE, "%.*s", SERVICE_MAX_BYTES,
			       service);
		return;
	}
	sha256(dir, strlen(dir), sum);
	(void)snprintf(ret, SERVICE_SIZE, "%.*s-%02x%02x%02x%02x",
		       SERVICE_MAX_BYTES, service, sum[0], sum[1], sum[2],
		       sum[3]);
}

void account_name(char ret[static ACCOUNT_SIZE])
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *name = pw ? pw->pw_name : "";
	size_t n = strlen(name);

	for (size_t i = 0; i < strlen(name); i++) {
		if (!is_plain(name[i]))
			n = 0;
	}
	if (n && n < ACCOUNT_SIZE)
		(void)snprintf(ret, ACCOUNT_SIZE, "%.*s", ACCOUNT_SIZE - 1,
			       name);
	else
		(void)snprintf(ret, ACCOUNT_SIZE, "uid-%u",
			       (unsigned int)geteuid());
}
