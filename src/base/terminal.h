/* SPDX-License-Identifier: Apache-2.0 */
/* base/terminal.h - lines for people: safe for a terminal, in colour where it has one */

#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdio.h>

struct buf;

/* One line to @out, in which a name cannot be more than a name: made safe for a
 * terminal, and ended
 */
void terminal_line(FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text to standard error, as it is; a reader that is gone does no harm. What
 * would block is written when the program ends.
 */
void stderr_write(const char *text, size_t n);

/* The same for one line, broken as terminal_wrap() does where it is a message of ours and
 * standard error a terminal
 */
void stderr_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum style {
	STYLE_NONE,
	STYLE_HEAD,
	STYLE_COMMAND,
	STYLE_ADDED,
	STYLE_REMOVED,
};

/* Columns of the terminal @fd, or 0 if it is none */
int terminal_columns(int fd);

/* Append the first @n bytes of @text, one line, to @out: broken between words where it is
 * longer than @columns (0: never), what follows behind @at blanks. A command to copy, in
 * quotes that begin with 'cloche, or from the last ": cloche" to the end, stays whole.
 */
void terminal_wrap(struct buf *out, const char *text, size_t n, int at, int columns);

/* The escape sequence of @style; "" if @out, or @fd, is no terminal, or with $NO_COLOR */
const char *terminal_style(FILE *out, enum style style);
const char *terminal_style_fd(int fd, enum style style);

#endif /* BASE_TERMINAL_H */
