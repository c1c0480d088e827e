/* SPDX-License-Identifier: Apache-2.0 */
/* run/output.c - where the messages of a run go */

#include "run/output.h"

#include <stdarg.h>

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

static void print_on_stderr(void *arg, const char *text, size_t n)
{
	(void)arg;
	stderr_write(text, n);
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
