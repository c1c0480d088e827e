/* SPDX-License-Identifier: Apache-2.0 */
/* base/leftover.h - empty directories that a killed run left in a bare home
 *
 * Who is killed removes nothing, and who comes next cannot tell a directory that
 * was made for the last one from the user's own. So one that we made only to put
 * ours into it says so, by its sticky bit, which means nothing in a directory that
 * only its owner can write. Births do not tell: a script that makes ~/.config and
 * runs us is as quick as we are.
 */

#ifndef BASE_LEFTOVER_H
#define BASE_LEFTOVER_H

#include <stdbool.h>

/* True if nothing else is in the directory that @path is in */
bool leftover_is_alone(const char *path);

/* Make the directory @path, and those above it, as far as they are missing; but
 * not $HOME
 */
void leftover_make(const char *path);

/* rmdir(): true if it is gone. Not tried where nothing can be removed, or a
 * sandbox around us would report it.
 */
bool leftover_rmdir(const char *path);

/* Remove the directory @path if it is empty and leftover_make() made the one that
 * it is in, and that one, and so on. What others use as well is theirs from then
 * on. Where the user's own are above it nothing is done.
 */
void leftover_tidy(const char *path);

#endif /* BASE_LEFTOVER_H */
