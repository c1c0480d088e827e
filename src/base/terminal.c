/* SPDX-License-Identifier: Apache-2.0 */
/* base/terminal.c - lines for people: safe for a terminal, and on standard error */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "base/terminal.h"

void terminal_line(FILE *out, const char *fmt, ...)
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

const char *terminal_style(FILE *out, enum style style)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m", [STYLE_HEAD] = "\033[1m",
		[STYLE_COMMAND] = "\033[32m", [STYLE_ADDED] = "\033[32m",
		[STYLE_REMOVED] = "\033[31m",
	};
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no && *no) || !term || !*term || !strcmp(term, "dumb") ||
	       !isatty(fileno(out)) ? "" : codes[style];
}

enum { KEPT_MAX = 1 << 20 };

/* What standard error did not take yet. The command may have stopped our terminal,
 * and who waits for it keeps no time limit: that is for the end.
 */
static struct buf kept;

static void print_kept(void)
{
	(void)fs_tell(STDERR_FILENO, kept.p, kept.len);
	kept.len = 0;
}

void stderr_write(const char *text, size_t n)
{
	ssize_t done = kept.len ? fs_write_now(STDERR_FILENO, kept.p, kept.len)
				: 0;

	if (done > 0) {
		kept.len -= (size_t)done;
		memmove(kept.p, kept.p + done, kept.len);
	}
	done = kept.len ? -EAGAIN : fs_write_now(STDERR_FILENO, text, n);
	if ((done < 0 && done != -EAGAIN) || kept.len + n > KEPT_MAX)
		return;
	if (done < 0)
		done = 0;
	if ((size_t)done < n && !kept.p)
		(void)atexit(print_kept);
	buf_add(&kept, text + done, n - (size_t)done);
}

void stderr_line(const char *fmt, ...)
{
	auto_free char *text = NULL;
	auto_buf struct buf line = { 0 };
	va_list args;

	va_start(args, fmt);
	text = mem_vprintf(fmt, args);
	va_end(args);
	buf_addf(&line, "%s\n", text);
	stderr_write(line.p, line.len);
}
