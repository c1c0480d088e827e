/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.c - why something failed, as the user will read it */

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The text of @fmt, and @more behind it. Messages quote names that a command
 * chose: no byte may move the cursor.
 */
__attribute__((format(printf, 4, 0)))
static int set_message(struct err *err, int code, const char *more,
		       const char *fmt, va_list ap)
{
	const int saved = errno;
	char text[2 * ERR_MSG_MAX];
	const char *p = text;
	size_t used = 0;

	if (!err)
		return code;
	(void)vsnprintf(text, ERR_MSG_MAX, fmt, ap);
	(void)snprintf(text + strlen(text), ERR_MSG_MAX, "%s", more);
	while (*p && used + 5 < sizeof(err->msg))
		used += text_escape_char(&p, err->msg + used);
	err->msg[used] = '\0';
	err->code = code;
	errno = saved;
	return code;
}

int fail(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_message(err, code, "", fmt, ap);
	va_end(ap);
	return code;
}

int fail_errno(struct err *err, const char *fmt, ...)
{
	const int saved = errno ? errno : EIO;
	char more[ERR_MSG_MAX];
	va_list ap;

	if (!err)
		return -saved;
	(void)snprintf(more, sizeof(more), ": %s%s", strerror(saved),
		       saved == EMFILE ? " (ulimit -n)" : "");
	va_start(ap, fmt);
	set_message(err, -saved, more, fmt, ap);
	va_end(ap);
	errno = saved;
	return -saved;
}

int fail_in(struct err *err, int code, const char *fmt, ...)
{
	char more[ERR_MSG_MAX + 2];
	va_list ap;

	(void)snprintf(more, sizeof(more), ": %s", err ? err->msg : "");
	va_start(ap, fmt);
	set_message(err, code, more, fmt, ap);
	va_end(ap);
	return code;
}

bool err_is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}
