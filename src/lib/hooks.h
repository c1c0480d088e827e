/* SPDX-License-Identifier: Apache-2.0 */
/* lib/hooks.h - whom a run tells what it has to say; nothing here prints */

#ifndef LIB_HOOKS_H
#define LIB_HOOKS_H

#include <stddef.h>

struct channel;
struct options;

/**
 * struct hooks - The program or the library around a run; in struct options
 * @say:	One line for a person, without "cloche: " and line end; or NULL
 * @print:	Text as it is, for the reader of standard error: the footer,
 *		the plan; or NULL
 * @channel:	The other end is a library in another process; or NULL
 */
struct hooks {
	void (*say)(void *arg, const char *line);
	void (*print)(void *arg, const char *text, size_t n);
	void *arg;
	struct channel *channel;
};

/* Say one line to whoever started this run, if anybody listens */
void hooks_say(const struct options *options, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void hooks_print(const struct options *options, const char *text, size_t n);

struct channel *hooks_channel(const struct options *options);

#endif /* LIB_HOOKS_H */
