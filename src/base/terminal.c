/* SPDX-License-Identifier: Apache-2.0 */
/* base/terminal.c - lines for people: safe for a terminal, and on standard error */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

const char *terminal_style_fd(int fd, enum style style)
{
	/* Readable on a light and on a dark background */
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m", [STYLE_HEAD] = "\033[1m",
		[STYLE_COMMAND] = "\033[32m", [STYLE_ADDED] = "\033[32m",
		[STYLE_REMOVED] = "\033[31m",
	};
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no && *no) || !term || !*term || !strcmp(term, "dumb") ||
	       !isatty(fd) ? "" : codes[style];
}

const char *terminal_style(FILE *out, enum style style)
{
	return terminal_style_fd(fileno(out), style);
}

enum {
	COLUMNS = 80,		/* Of a terminal that does not say */
	WRAP_MIN = 24,		/* Columns beside the blanks; with fewer, nothing is broken */
	PREFIX = 8,		/* Bytes of "cloche: " */
	KEPT_MAX = 1 << 20,
};

int terminal_columns(int fd)
{
	struct winsize size = { 0 };

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS;
}

/* Bytes from @at, in the line from @text to @end, that stay together */
static size_t unit_len(const char *text, const char *at, const char *end)
{
	size_t n = 0;

	if (end - at > 7 && !strncmp(at, "cloche ", 7) && at - text >= 2 &&
	    !strncmp(at - 2, ": ", 2) && !memmem(at, (size_t)(end - at), ": cloche ", 9))
		return (size_t)(end - at);
	if (end - at > 8 && !strncmp(at, "'cloche ", 8))
		n = 1 + strcspn(at + 1, "'");
	while (at + n < end && at[n] != ' ')
		n++;
	return n < (size_t)(end - at) ? n : (size_t)(end - at);
}

void terminal_wrap(struct buf *out, const char *text, size_t n, int at, int columns)
{
	const char *p = text, *const end = text + n;
	int column = 0;

	while (p < end) {
		const char *word = p + strspn(p, " ");
		const size_t len = unit_len(text, word, end);
		int width = 0;

		for (size_t i = 0; i < len; i++)
			width += (word[i] & 0xc0) != 0x80;	/* Of UTF-8 */
		if (column > at && columns >= at + WRAP_MIN &&
		    column + (int)(word - p) + width > columns) {
			buf_addf(out, "\n%*s", at, "");
			column = at;
		} else {
			buf_add(out, p, (size_t)(word - p));
			column += (int)(word - p);
		}
		buf_add(out, word, len);
		column += width;
		p = word + len;
	}
}

/* Text that standard error did not take yet. A command may have stopped the terminal,
 * and a write that blocks would delay the time limit, so it is written at exit.
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
	terminal_wrap(&line, text, strlen(text), PREFIX,
		      strncmp(text, "cloche: ", PREFIX) ? 0 : terminal_columns(STDERR_FILENO));
	buf_addc(&line, '\n');
	stderr_write(line.p, line.len);
}
