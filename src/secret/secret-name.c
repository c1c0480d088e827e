/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-name.c - what a secret, its value and its service may be called */

#include "secret/secret-name.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/text.h"

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

/* It would be shown escaped: an invisible character, or one that reorders others */
static bool is_escaped(const char *p)
{
	const char *next = p;
	char shown[5];

	return *p != '\\' && text_escape_char(&next, shown) && *shown == '\\';
}

/* @what is a name, which is shown to people, or a value. 0 or -EINVAL. */
static int check_text(const char *what, bool shown, const char *text, size_t n,
		      const char *advice, struct err *err)
{
	for (size_t i = 0; i < n;) {
		const unsigned char c = (unsigned char)text[i];
		const size_t len = text_utf8_len(text + i);

		if (c == '\r' || c == '\n' || c == '\0' ||
		    (shown && (c < 0x20 || c == 0x7f)))
			return fail(err, -EINVAL, "the %s holds %s at byte %zu%s",
				    what, byte_name(c), i, advice);
		if (!len)
			return fail(err, -EINVAL,
				    "the %s is not UTF-8 at byte %zu%s", what, i,
				    advice);
		if (shown && is_escaped(text + i))
			return fail(err, -EINVAL,
				    "the %s holds an invisible character at byte %zu",
				    what, i);
		i += len;
	}
	return 0;
}

int name_check(const char *name, size_t n, struct err *err)
{
	auto_free char *path = mem_printf("/%s/", name);

	if (!n)
		return fail(err, -EINVAL, "a secret needs a name");
	if (n > NAME_MAX_BYTES)
		return fail(err, -EINVAL, "a name has at most %d bytes",
			    NAME_MAX_BYTES);
	if (check_text("name", true, name, n, "", err) < 0)
		return -EINVAL;
	if (name[0] == ' ' || name[n - 1] == ' ')
		return fail(err, -EINVAL,
			    "the name begins or ends with a blank");
	if (strstr(path, "/../"))
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
	return check_text("value", false, value, n,
			  "; encode it first, for instance with base64 -w0",
			  err);
}

int service_check(const char *service, struct err *err)
{
	const size_t n = strspn(service,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	if (service[n] || !n || n > SERVICE_MAX_BYTES || service[0] == '.')
		return fail(err, -EINVAL,
			    "service '%s': 1 to %d letters, digits, '-', '_' and '.', the first not a '.'",
			    service, SERVICE_MAX_BYTES);
	return 0;
}

void service_full(const char *service, const char *dir, const char *usual,
		  char ret[static SERVICE_SIZE])
{
	unsigned char sum[SHA256_BYTES];
	int n = snprintf(ret, SERVICE_SIZE, "%.*s", SERVICE_MAX_BYTES, service);

	if (usual && !strcmp(dir, usual))
		return;
	sha256(dir, strlen(dir), sum);
	(void)snprintf(ret + n, (size_t)(SERVICE_SIZE - n),
		       "-%02x%02x%02x%02x", sum[0], sum[1], sum[2], sum[3]);
}
