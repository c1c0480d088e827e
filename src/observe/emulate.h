/* SPDX-License-Identifier: Apache-2.0 */
/* observe/emulate.h - a call made by the supervisor on the command's behalf
 *
 * A running sandbox keeps the mounts and the Landlock rules it started with, so
 * what a later edit of the settings allows is done here. In the landlock tier so
 * is every change of mode, owner, times and attributes, which Landlock does not
 * know. This is the only answer that grants something. It acts in the
 * directory, and on the file, whose inodes were decided about; it follows no
 * link, and hands in regular files only.
 */

#ifndef OBSERVE_EMULATE_H
#define OBSERVE_EMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/notification.h"

struct resolved_path;
struct tracee;

/**
 * struct emulation - What to do
 * @flags:	O_* for CALL_OPEN, else those of the call
 * @args:	Of the call, for modes and sizes
 * @to:		For CALL_RENAME and CALL_LINK, else NULL
 * @fd:		For a CALL_SETATTR of what is open: a copy of that, and no @from;
 *		else -1
 * @one_user:	The command's user namespace has one user and one group
 */
struct emulation {
	const struct call *call;
	enum call_what what;
	uint64_t flags, how_mode;
	const unsigned long long *args;
	struct tracee *tracee;
	const struct resolved_path *from, *to;
	int fd;
	bool one_user;
};

/* 0, or a negative errno which is the call's result. For CALL_OPEN: a
 * descriptor to hand in.
 */
int emulate(const struct emulation *p);

#endif /* OBSERVE_EMULATE_H */
