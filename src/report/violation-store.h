/* SPDX-License-Identifier: Apache-2.0 */
/* watch/store.h - every run's refusals, in $XDG_STATE_HOME/cloche
 *
 * violations.jsonl is the newest file, .1 to .3 are older. Many runs append
 * at once; a record is one write() to a descriptor in append mode, so records
 * are whole. Writers take no lock: a stopped process must not stop others.
 */

#ifndef WATCH_STORE_H
#define WATCH_STORE_H

#include <stddef.h>

struct err;
struct store;
struct violation;

enum {
	STORE_FILE_MAX = 8 << 20,	/* Bytes before a file is put aside */
	STORE_FILES = 4,		/* The newest and the ones put aside */
};

/* $XDG_STATE_HOME/cloche (or ~/.local/state/cloche); NULL without a home.
 * The caller frees.
 */
char *store_default_dir(void);

/* Open the store in @dir (made if missing, 0700). @file_max: STORE_FILE_MAX. */
int store_new(const char *dir, size_t file_max, struct store **ret,
	      struct err *err);
void store_free(struct store *store);

/* Append one record: 0 or a negative errno */
int store_append(struct store *store, const struct violation *v);

/* Called per record, oldest first; stop by returning non-zero */
typedef int (*store_fn)(void *arg, const struct violation *v);

/* Walk all records; lines that are not records are skipped. 0, what @fn
 * returned, or a negative errno.
 */
int store_each(struct store *store, store_fn fn, void *arg, struct err *err);

/* Wait for new records and hand them to @fn until it returns non-zero */
int store_follow(struct store *store, store_fn fn, void *arg, struct err *err);

/* Remove all records */
int store_clear(struct store *store, struct err *err);

#endif /* WATCH_STORE_H */
