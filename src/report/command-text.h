/* SPDX-License-Identifier: Apache-2.0 */
/* report/command-text.h - a command line for records, without what looks like a secret */

#ifndef REPORT_COMMAND_TEXT_H
#define REPORT_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Replaces a part that was cut */
#define COMMAND_TEXT_CUT "***"

/**
 * command_text - Append a command line as a shell would read it
 * @argv:	Ended by NULL
 * @max:	No further argument once @out has so many bytes
 *
 * Cut are: names, passwords and queries of addresses (scheme://...); values that
 * policy/env-rules.h takes for secrets by their shape, or by the name before them
 * ("--token X", "KEY=X", "X-Api-Key: X"); what follows the colon of -u and --user. An
 * argument with blanks in which such a value stands is cut as a whole.
 *
 * Return: true if something was cut.
 */
bool command_text(const char *const *argv, size_t max, struct buf *out);

/* Take names, passwords and queries out of the addresses (scheme://...) in @text */
void command_text_strip(char *text);

#endif /* REPORT_COMMAND_TEXT_H */
