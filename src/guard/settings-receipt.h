/* SPDX-License-Identifier: Apache-2.0 */
/* watch/trust.h - settings files that cloche itself wrote, by their content
 *
 * A settings file that appears in a directory that a command can write may be
 * the user's or a plant. What `cloche policy` is about to write is noted here,
 * where no command can write; a file is the user's if it holds just that.
 */

#ifndef WATCH_TRUST_H
#define WATCH_TRUST_H

#include <stdbool.h>
#include <stddef.h>

/* @path is about to hold @n bytes of @text. 0 or a negative errno. */
int trust_note(const char *state, const char *path, const char *text, size_t n);

/* True if @text is what was noted last for @path */
bool trust_holds(const char *state, const char *path, const char *text,
		 size_t n);

/* True if that is what @path holds */
bool trust_has(const char *state, const char *path);

#endif /* WATCH_TRUST_H */
