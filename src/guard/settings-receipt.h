/* SPDX-License-Identifier: Apache-2.0 */
/* guard/settings-receipt.h - settings files that cloche itself wrote, by their content
 *
 * A settings file that appears in a directory that a command can write may be
 * the user's or planted. What `cloche policy` is about to write is recorded here,
 * where no command can write; a file with exactly that content is the user's.
 */

#ifndef GUARD_SETTINGS_RECEIPT_H
#define GUARD_SETTINGS_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>

/* @path is about to hold @n bytes of @text. 0 or a negative errno. */
int settings_receipt_note(const char *state, const char *path, const char *text, size_t n);

/* True if @text is what was recorded last for @path */
bool settings_receipt_holds(const char *state, const char *path, const char *text,
		 size_t n);

/* True if the file @path has the content that was recorded last for it */
bool settings_receipt_has(const char *state, const char *path);

#endif /* GUARD_SETTINGS_RECEIPT_H */
