/* SPDX-License-Identifier: Apache-2.0 */
/* watch/caller.h - which part of a program made a call */

#ifndef WATCH_CALLER_H
#define WATCH_CALLER_H

#include <stdbool.h>

struct tracee;

/* True if the call that @tracee waits in was made by the C library, or what it
 * loads for looking names up, of its own accord: the program does not know of it,
 * and does without. False if that cannot be told. It decides nothing but reports.
 */
bool caller_is_library(const struct tracee *tracee);

#endif /* WATCH_CALLER_H */
