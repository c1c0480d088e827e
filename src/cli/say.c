/* SPDX-License-Identifier: Apache-2.0 */
/* cli/say.c - lines for a terminal, or for whoever reads standard error */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"

static char *format(const char *fmt, va_list args)
	__attribute__((format(printf, 1, 0)));

static char *format(const char *fmt, va_list args)
{
	char *line;

	if (vasprintf(&line, fmt, args) < 0)
		abort();	/* As base/mem.h does */
	return line;
}

void cli_say(FILE *out, const char *fmt, ...)
{
	auto_free char *line = NULL;
	auto_buf struct buf safe = { 0 };
	va_list args;

	va_start(args, fmt);
	line = format(fmt, args);
	va_end(args);
	text_escape(&safe, line);
	fprintf(out, "%s\n", buf_str(&safe));
}

void cli_tell(const char *fmt, ...)
{
	auto_free char *text = NULL;
	auto_buf struct buf line = { 0 };
	va_list args;

	va_start(args, fmt);
	text = format(fmt, args);
	va_end(args);
	buf_addf(&line, "%s\n", text);
	(void)fs_tell(STDERR_FILENO, line.p, line.len);
}
