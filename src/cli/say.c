/* SPDX-License-Identifier: Apache-2.0 */
/* cli/say.c - lines with names in them, for a terminal */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"

void cli_say(FILE *out, const char *fmt, ...)
{
	auto_free char *line = NULL;
	auto_buf struct buf safe = { 0 };
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		abort();	/* As base/mem.h does */
	va_end(args);
	text_escape(&safe, line);
	fprintf(out, "%s\n", buf_str(&safe));
}
