/* SPDX-License-Identifier: Apache-2.0 */
/* run/output.c - where the messages of a run go */

#include "run/output.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/terminal.h"
#include "base/text.h"

static void say_on_stderr(void *arg, const char *line)
{
	(void)arg;
	stderr_line("cloche: %s", line);
}

enum { DETAIL_AT = 10 };	/* Behind "cloche:   " */

/* Lines of ours: heads and commands stand out on a terminal, and all but the commands
 * are broken between words. An agent's lines, in tags, stay as they are.
 */
static void print_on_stderr(void *arg, const char *text, size_t len)
{
	const int columns = terminal_columns(STDERR_FILENO);
	auto_buf struct buf out = { 0 };

	(void)arg;
	for (const char *end = text + len; text < end;) {
		const size_t n = strcspn(text, "\n");
		const bool ours = !strncmp(text, "cloche: ", 8);
		const enum style style = ours && text[8] != ' ' ? STYLE_HEAD :
					 *text == ' ' ? STYLE_COMMAND : STYLE_NONE;

		buf_adds(&out, style ? terminal_style(stderr, style) : "");
		terminal_wrap(&out, text, n, DETAIL_AT, ours ? columns : 0);
		buf_adds(&out, style ? terminal_style(stderr, STYLE_NONE) : "");
		text += n;
		if (*text)
			buf_addc(&out, *text++);
	}
	stderr_write(out.p, out.len);
}

const struct output output_stderr = {
	.say = say_on_stderr, .print = print_on_stderr,
};

void output_say(const struct output *output, const char *fmt, ...)
{
	auto_free char *line = NULL;
	auto_buf struct buf safe = { 0 };	/* Names that the command chose are in it */
	va_list ap;

	va_start(ap, fmt);
	line = mem_vprintf(fmt, ap);
	va_end(ap);
	text_escape(&safe, line);
	output->say(output->arg, buf_str(&safe));
}

void output_print(const struct output *output, const char *text, size_t n)
{
	if (n)
		output->print(output->arg, text, n);
}
