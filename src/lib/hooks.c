/* SPDX-License-Identifier: Apache-2.0 */
/* lib/hooks.c - whom a run tells what it has to say; nothing here prints */

#include "lib/hooks.h"

#include <stdarg.h>

#include "base/mem.h"
#include "base/own.h"
#include "lib/options.h"

void hooks_say(const struct options *options, const char *fmt, ...)
{
	const struct hooks *hooks = options->hooks;
	auto_free char *line = NULL;
	va_list ap;

	if (!hooks || !hooks->say)
		return;
	va_start(ap, fmt);
	line = mem_vprintf(fmt, ap);
	va_end(ap);
	hooks->say(hooks->arg, line);
}

void hooks_print(const struct options *options, const char *text, size_t n)
{
	const struct hooks *hooks = options->hooks;

	if (n && hooks && hooks->print)
		hooks->print(hooks->arg, text, n);
}

struct channel *hooks_channel(const struct options *options)
{
	return options->hooks ? options->hooks->channel : NULL;
}
