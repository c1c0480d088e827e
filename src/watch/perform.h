/* SPDX-License-Identifier: Apache-2.0 */
/* watch/perform.h - a call made by the supervisor, for a root granted later
 *
 * A running sandbox keeps the mounts and the Landlock rules it started with.
 * What a later edit of the settings allows is therefore done here, by us, in
 * the very directory that was looked at, and the result is handed in. This is
 * the one place where an answer grants something, so it trusts nothing: no
 * link is followed, and only regular files are ever handed in.
 */

#ifndef WATCH_PERFORM_H
#define WATCH_PERFORM_H

#include <stdint.h>

#include "watch/calls.h"

struct place;
struct tracee;

/**
 * struct performance - What to do
 * @flags:	O_* for CALL_OPEN, else those of the call
 * @args:	Of the call, for modes and sizes
 * @to:		For CALL_RENAME and CALL_LINK, else NULL
 */
struct performance {
	const struct call *call;
	enum call_what what;
	uint64_t flags, how_mode;
	const unsigned long long *args;
	struct tracee *tracee;
	const struct place *from, *to;
};

/* 0, or a negative errno which is the call's result. For CALL_OPEN: a
 * descriptor to hand in.
 */
int perform(const struct performance *p);

#endif /* WATCH_PERFORM_H */
