/* SPDX-License-Identifier: Apache-2.0 */
/* cli/say.c - lines for a terminal, or for whoever reads standard error */

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"

void cli_say(FILE *out, const char *fmt, ...)
{
	auto_free char *line = NULL;
	auto_buf struct buf safe = { 0 };
	va_list args;

	va_start(args, fmt);
	line = mem_vprintf(fmt, args);
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
	text = mem_vprintf(fmt, args);
	va_end(args);
	buf_addf(&line, "%s\n", text);
	(void)fs_tell(STDERR_FILENO, line.p, line.len);
}
