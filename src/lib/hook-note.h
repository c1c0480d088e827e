/* SPDX-License-Identifier: Apache-2.0 */
/* lib/hook-note.h - what installing hooks did to a file, so that it can go back
 *
 * To add an entry is to put a piece into the text in the place of another,
 * often of nothing. Both pieces and the place are noted in our state directory;
 * of the rest of the settings nothing is kept.
 */

#ifndef LIB_HOOK_NOTE_H
#define LIB_HOOK_NOTE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct hook_target;

/**
 * struct piece - One change of the text
 * @at:		Where @new stood when it was put there
 */
struct piece {
	size_t at;
	char *old, *new;
};

/**
 * struct note - What installing did to one file
 * @created:	There was no file
 * @made_dir:	Nor its directory
 */
struct note {
	bool created, made_dir;
	struct { struct piece *v; size_t len, cap; } pieces;
};

void note_done(struct note *note);

/* Remember how @after differs from @before */
void note_piece(struct note *note, const struct buf *before,
		const struct buf *after);

/* Put the old pieces back, the last first, where they stand by now. False, and
 * nothing in @ret, if one of them is not there any more.
 */
bool note_undo(const struct note *note, const struct buf *text,
	       struct buf *ret);

/* Keep the note of @t's agent and file, find it again, drop it */
int note_save(const struct hook_target *t, const struct note *note,
	      struct err *err);
bool note_load(const struct hook_target *t, struct note *ret);
void note_forget(const struct hook_target *t);

#endif /* LIB_HOOK_NOTE_H */
