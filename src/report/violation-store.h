/* SPDX-License-Identifier: Apache-2.0 */
/* report/violation-store.h - runs and their refusals, in $XDG_STATE_HOME/cloche
 *
 * violations.jsonl is the newest file, .1 to .3 are older. Many runs append
 * at once; a record is one write() to a descriptor in append mode, so records
 * are whole. Writers take no lock: a stopped process must not stop others.
 *
 * Of each file at most VIOLATION_STORE_READ_MAX bytes are read, the last ones. No record
 * is older than VIOLATION_STORE_DAYS after a record was appended: the newest file is
 * rotated when the last rotation was a quarter of that ago, and a file that was not written
 * for the other three is removed then.
 */

#ifndef REPORT_VIOLATION_STORE_H
#define REPORT_VIOLATION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct violation_store;
struct run_record;
struct violation;

enum {
	VIOLATION_STORE_FILE_MAX = 8 << 20,	/* Bytes before a file is rotated */
	VIOLATION_STORE_FILES = 4,		/* The newest and the rotated ones */
	VIOLATION_STORE_READ_MAX = 64 << 20,	/* Bytes of a file that is larger than ours */
	VIOLATION_STORE_DAYS = 90,
};

/* $XDG_STATE_HOME/cloche (or ~/.local/state/cloche); NULL without a home.
 * The caller frees.
 */
char *violation_store_default_dir(void);

/* Open the store in @dir (made if missing, 0700). @file_max: VIOLATION_STORE_FILE_MAX. */
int violation_store_new(const char *dir, size_t file_max, struct violation_store **ret,
	      struct err *err);
/* Open the user's. Without @create, one that is not there is NULL, and nothing is made. */
int violation_store_open(bool create, struct violation_store **ret, struct err *err);
void violation_store_free(struct violation_store *store);

/* Append one record: 0 or a negative errno */
int violation_store_append(struct violation_store *store, const struct violation *v);
int violation_store_append_run(struct violation_store *store, const struct run_record *run);

/* Called per record, oldest first; stop by returning non-zero */
typedef int (*store_fn)(void *arg, const struct violation *v);

/* Walk all refusals; lines that are something else are skipped, and without a store there
 * are none. 0, what @fn returned, or a negative errno.
 */
int violation_store_each(struct violation_store *store, store_fn fn, void *arg, struct err *err);

/* The same for records of runs */
typedef int (*store_run_fn)(void *arg, const struct run_record *run);
int violation_store_each_run(struct violation_store *store, store_run_fn fn, void *arg,
			     struct err *err);

/* Wait for new refusals and hand them to @fn until it returns non-zero */
int violation_store_follow(struct violation_store *store, store_fn fn, void *arg, struct err *err);

/**
 * struct store_cursor - How far a reader has come, in each file; zero-initialise it
 * @inode, @born: Which file that is, whatever it is called by now
 * @offset:	Behind the last line that was read; nothing is before it
 */
struct store_cursor {
	struct {
		uint64_t inode, born, offset;
	} files[VIOLATION_STORE_FILES];
};

/* Called per line, with its offset in the file. A return value other than 0 stops the
 * walk, and the line is read again the next time.
 */
typedef int (*store_line_fn)(void *arg, const char *line, size_t n, uint64_t offset);

/* Hand on the lines behind @cursor, oldest file first, and move it. A line that was
 * written to a file after its rotation is among them. *@lost is set if the newest
 * file of @cursor is gone, and so may be lines that were not read. 0, what @fn returned,
 * or a negative errno.
 */
int violation_store_read(struct violation_store *store, struct store_cursor *cursor,
			 store_line_fn fn, void *arg, bool *lost, struct err *err);

/* A descriptor that becomes readable when something is written: the caller's. A negative
 * errno with a message otherwise.
 */
int violation_store_watch(const struct violation_store *store, struct err *err);

/* Remove all records */
int violation_store_clear(struct violation_store *store, struct err *err);

#endif /* REPORT_VIOLATION_STORE_H */
