/* SPDX-License-Identifier: Apache-2.0 */
/* watch/question.h - one question of the filter's: which call, which names */

#ifndef WATCH_QUESTION_H
#define WATCH_QUESTION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/calls.h"
#include "watch/place.h"

struct cwds;
struct seccomp_notif;
struct tracee;

/**
 * struct name - A path argument
 * @text:	As given
 * @full:	With the directory it is relative to; only text
 * @dir, @dir_len: That directory's descriptor, and how much of @full it is; 0 if
 *		that is not all of it
 */
struct name {
	char text[PATH_MAX], full[2 * PATH_MAX];
	int dir;
	size_t dir_len;
};

/**
 * struct question - What is being answered
 * @cwds:	Where directories are remembered, or NULL
 * @what:	Never CALL_OPEN_HOW or CALL_CREAT once it is read
 * @two:	It has a second name
 * @done:	The call was made here; @fd is what it opened, or -1
 * @link, @dir:	It makes a symbolic link, a directory
 * @in_root:	The directory that its name is relative to is "/" to it
 * @open:	What gets a second name was given as a descriptor
 * @quiet:	It is about what is open, or a look: not refused, not told
 * @reads:	It is known to change nothing; its names are not read unless
 *		reads matter
 */
struct question {
	const struct seccomp_notif *notif;
	const struct call *call;
	struct tracee *tracee;
	struct cwds *cwds;
	enum call_what what;
	uint64_t flags, how_mode;
	enum place_follow follow;
	bool two, done, link, dir, in_root, open, quiet, reads;
	int fd;
};

/* Read the call's flags and names: 0, or a negative errno. @reads: those of a
 * call that changes nothing as well.
 */
int question_read(struct question *q, bool reads, struct name names[2]);

/* Hand in @q->fd, and with it the answer. 0, or a negative errno if there was none. */
int question_hand_in(const struct question *q, int listener);

/* True if the call, let through, can bring a name into being */
bool question_makes(const struct question *q);

#endif /* WATCH_QUESTION_H */
