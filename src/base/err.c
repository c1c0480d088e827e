/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.c - why something failed, in the words that the user will read */

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Messages quote names that a stranger chose: no byte may move the cursor */
static void set_message(struct err *err, const char *text)
{
	size_t used = 0;

	while (*text && used + 5 < sizeof(err->msg))
		used += text_escape_char(&text, err->msg + used);
	err->msg[used] = '\0';
}

int fail(struct err *err, int code, const char *fmt, ...)
{
	const int saved = errno;
	char text[ERR_MSG_MAX];
	va_list ap;

	if (!err)
		return code;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	err->code = code;
	set_message(err, text);
	errno = saved;
	return code;
}

int fail_errno(struct err *err, const char *fmt, ...)
{
	const int saved = errno ? errno : EIO;
	char text[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	fail(err, -saved, "%s: %s%s", text, strerror(saved),
	     saved == EMFILE ? " (ulimit -n)" : "");
	errno = saved;
	return -saved;
}

int fail_in(struct err *err, int code, const char *fmt, ...)
{
	const int saved = errno;
	char inner[ERR_MSG_MAX], context[ERR_MSG_MAX];
	va_list ap;

	if (!err)
		return code;

	va_start(ap, fmt);
	(void)vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);

	memcpy(inner, err->msg, sizeof(inner));
	fail(err, code, "%s: %s", context, inner);
	errno = saved;
	return code;
}

bool err_is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}
