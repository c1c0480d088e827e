/* SPDX-License-Identifier: Apache-2.0 */
/* base/terminal.h - lines for people: safe for a terminal, in colour where it has one */

#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdio.h>

/* One line to @out, in which a name cannot be more than a name: made safe for a
 * terminal, and ended
 */
void terminal_line(FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text to standard error, as it is; a reader that is gone does no harm. What
 * would block is written when the program ends.
 */
void stderr_write(const char *text, size_t n);

/* The same for one line */
void stderr_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum style {
	STYLE_NONE,
	STYLE_HEAD,
	STYLE_COMMAND,
	STYLE_ADDED,
	STYLE_REMOVED,
};

/* What makes @out look so; "" where it is no terminal, or wants no colours */
const char *terminal_style(FILE *out, enum style style);

#endif /* BASE_TERMINAL_H */
