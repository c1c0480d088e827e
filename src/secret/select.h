/* SPDX-License-Identifier: Apache-2.0 */
/* secret/select.h - the one back end that keeps a store
 *
 * The first write chooses it, the best that works or the one that the caller
 * names, and records its name in a small file beside the lock. From then on
 * only that back end is asked: if it fails, the operation fails. A store
 * without a record (from before there were any) is kept by the first back end
 * that has data; its next write records that.
 */

#ifndef SECRET_SELECT_H
#define SECRET_SELECT_H

#include <stddef.h>

#include "secret/backend.h"

struct place;

enum { SELECT_MAX = 3 };

/**
 * struct select - A backend that hands everything on to the selected one
 * @leaf:	All back ends, the best first; not owned
 * @forced:	The one to use in any case, or NULL
 * @place:	Directory of the record; not owned
 * @files:	Beginning of the names of the store's files; not owned
 */
struct select {
	struct backend base;
	struct backend *leaf[SELECT_MAX];
	size_t count;
	struct backend *forced;
	struct place *place;
	const char *files;
};

/* Fill in the operations; the caller fills in the rest */
void select_init(struct select *s);

/* The recorded back end: 1 with *@ret, 0 if there is no record, or -errno */
int select_recorded(struct select *s, struct backend **ret, struct err *err);

/* Move the document to the back end @to: write it there, record that, delete
 * the old copy. 0 if there is nothing to move. The caller holds the lock.
 */
void select_move(struct select *s, struct backend *to, answer_fn done,
		 void *arg);

#endif /* SECRET_SELECT_H */
