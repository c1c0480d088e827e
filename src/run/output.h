/* SPDX-License-Identifier: Apache-2.0 */
/* run/output.h - where the messages of a run go */

#ifndef RUN_OUTPUT_H
#define RUN_OUTPUT_H

#include <stddef.h>

struct host_channel;

/**
 * struct output - The program or the library around a run
 * @say:	One line for a person, without "cloche: " and line end
 * @print:	Text as it is, for the reader of standard error: the footer, the
 *		plan
 * @channel:	The other end is a library in another process; or NULL
 */
struct output {
	void (*say)(void *arg, const char *line);
	void (*print)(void *arg, const char *text, size_t n);
	void *arg;
	struct host_channel *channel;
};

/* Standard error, each line with "cloche: " before it */
extern const struct output output_stderr;

void output_say(const struct output *output, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void output_print(const struct output *output, const char *text, size_t n);

#endif /* RUN_OUTPUT_H */
