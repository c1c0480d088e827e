/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backend.h - where a document can be kept: one interface, many places
 *
 * A document is one JSON object per service. Every operation answers exactly
 * once, through a callback that may come before the operation returns. One
 * file per backend; secret/select.h chooses the one that keeps a store.
 */

#ifndef SECRET_BACKEND_H
#define SECRET_BACKEND_H

#include <stdbool.h>

#include "base/err.h"

struct backend;
struct bytes;
struct span;

/* What the user should hear about a success: bits, texts in notes.def */
enum note {
#define NOTE(id, text) NOTE_BIT_##id,
#include "secret/notes.def"
#undef NOTE
	NOTE_COUNT,
};
#define NOTE(id, text) enum { NOTE_##id = 1 << NOTE_BIT_##id };
#include "secret/notes.def"
#undef NOTE

/* The text of one bit, by its number */
const char *note_text(enum note number);

/**
 * struct answer - How an operation went; it lasts as long as the callback
 * @r:		1 found (read) or done, 0 nothing there, or a negative errno;
 *		-ENOTSUP: this backend cannot work here at all
 * @data:	The document that a read found, else NULL
 * @notes:	NOTE_* bits
 * @err:	Why @r is negative; with NOTE_STALE, why the last known
 *		document was used
 */
struct answer {
	int r;
	const struct bytes *data;
	unsigned int notes;
	struct err err;
};

typedef void (*answer_fn)(void *arg, const struct answer *answer);

/* Make the new document of the old one. 1 to write @ret, 0 if there is nothing to
 * change, or a negative errno.
 */
typedef int (*edit_fn)(void *arg, struct span old, struct bytes *ret,
		       struct err *err);

/**
 * struct backend_ops - What a backend can do
 * @name:	As in --backend
 * @read:	The document
 * @update:	Replace the document; @data stays until the answer
 * @delete:	Remove the document: 1, or 0 if there was none
 * @cancel:	Answer what is under way with -ECANCELED, now; may be NULL
 * @free:	Free; nothing is under way
 */
struct backend_ops {
	const char *name;
	void (*read)(struct backend *b, answer_fn done, void *arg);
	void (*update)(struct backend *b, const struct bytes *data,
		       answer_fn done, void *arg);
	void (*delete)(struct backend *b, answer_fn done, void *arg);
	void (*cancel)(struct backend *b);
	void (*free)(struct backend *b);
};

struct backend {
	const struct backend_ops *ops;
};

void backend_read(struct backend *b, answer_fn done, void *arg);
void backend_update(struct backend *b, const struct bytes *data,
		    answer_fn done, void *arg);
void backend_delete(struct backend *b, answer_fn done, void *arg);

/* Read, change and write; the answer holds the new document if there is one */
void backend_edit(struct backend *b, edit_fn change, void *change_arg,
		  answer_fn done, void *arg);
void backend_cancel(struct backend *b);
void backend_free(struct backend *b);	/* Cancels first */

/* Answer with a failure that @err describes */
void answer_fail(answer_fn done, void *arg, const struct err *err);

/* True for failures that show that there is a store: a wrong key, damage, a file
 * that is not safe to use. A person has to look.
 */
bool answer_is_final(int r);

#endif /* SECRET_BACKEND_H */
