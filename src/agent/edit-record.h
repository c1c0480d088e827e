/* SPDX-License-Identifier: Apache-2.0 */
/* agent/edit-record.h - what an edit of an agent's settings has replaced, to undo it
 *
 * An edit replaces a piece of the text, often an empty one, by another. Both pieces and
 * their offset are recorded in cloche's state directory, which no sandboxed command can
 * read. Undoing an edit keeps changes that were made elsewhere in the file since.
 */

#ifndef AGENT_EDIT_RECORD_H
#define AGENT_EDIT_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/**
 * struct edit_record - What one edit did to one file
 * @created:	The edit made the file
 * @made_dir:	The edit made its directory
 * @at:		Where @new was put, in the place of @old
 * @more:	Further data of the caller, or NULL
 */
struct edit_record {
	bool created, made_dir;
	size_t at;
	char *old, *new;
	json_t *more;
};

void edit_record_done(struct edit_record *record);

#define auto_edit	__attribute__((cleanup(edit_record_done)))

/* One record for a @kind of edit and a @subject: a file, or something in one. 0, or a
 * negative errno with a message.
 */
int edit_record_save(const char *kind, const char *subject,
		     const struct edit_record *record, struct err *err);
/* False if there is none; *@ret is to be released in any case */
bool edit_record_load(const char *kind, const char *subject,
		      struct edit_record *ret);
void edit_record_forget(const char *kind, const char *subject);

/* Fill in what differs between two texts, cut between characters */
void edit_record_piece(struct edit_record *record, const struct buf *before,
		       const struct buf *after);

/* Append @text with the old piece where the new one stands: at its place, or at the
 * only other one. False if it is not there any more.
 */
bool edit_record_undo(const struct edit_record *record, const struct buf *text,
		      struct buf *ret);

#endif /* AGENT_EDIT_RECORD_H */
