/* SPDX-License-Identifier: Apache-2.0 */
/* base/leftover.h - empty directories that a killed run left in a bare home
 *
 * Who is killed removes nothing, and who comes next cannot tell a directory that
 * was made for the last one from the user's own but by its birth: what was made
 * in one go has one.
 */

#ifndef BASE_LEFTOVER_H
#define BASE_LEFTOVER_H

#include <stdbool.h>

/* True if nothing else is in the directory that @path is in */
bool leftover_is_alone(const char *path);

/* True if the directory @path was made together with the one that it is in, and
 * is alone there. Never in $HOME itself, nor where nobody knows births.
 */
bool leftover_is(const char *path);

/* rmdir(): true if it is gone. Not tried where nothing can be removed, or a
 * sandbox around us would report it.
 */
bool leftover_rmdir(const char *path);

/* Remove the directory @path if it is empty, and those above it that
 * leftover_is() says the same of
 */
void leftover_remove(const char *path);

#endif /* BASE_LEFTOVER_H */
