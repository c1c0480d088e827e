/* SPDX-License-Identifier: Apache-2.0 */
/* watch/quarantine.h - what was planted is moved away, and can come back
 *
 * STATE/quarantine/ID/ holds "item" (what was there) and "meta.json" (where it
 * was, and why). Nothing is ever deleted.
 */

#ifndef WATCH_QUARANTINE_H
#define WATCH_QUARANTINE_H

#include <stddef.h>

struct err;

enum {
	QUARANTINE_ID_SIZE = 13,	/* 12 characters */
	QUARANTINE_ENTRIES_MAX = 1 << 17, /* Names copied to another disk */
	QUARANTINE_BYTES_MAX = 1 << 28,
	QUARANTINE_DEPTH_MAX = 64,
};

/* Move @path (absolute; no component may be a symbolic link but the last,
 * which is moved itself) away. @state is our state directory, @run and @reason
 * are for the record. 0 and the new id; 1, with words, if it could not be moved
 * and has another name in its place now, under which nobody obeys it; -ENOENT
 * if nothing is there; or a negative errno with words.
 */
int quarantine_move(const char *state, const char *path, const char *run,
		    const char *reason, char ret_id[QUARANTINE_ID_SIZE],
		    struct err *err);

/* For whoever plants all day: nothing more is kept. A file is removed, and a
 * directory, which may hold any number of others, gets a name under which nobody
 * obeys it. 1 with words, -ENOENT if nothing is there, or a negative errno with
 * words.
 */
int quarantine_drop(const char *path, struct err *err);

/* Keep a copy of @n bytes that stood in the file @path, which is about to be
 * rewritten
 */
int quarantine_keep(const char *state, const char *path, const void *data,
		    size_t n, const char *run, const char *reason,
		    char ret_id[QUARANTINE_ID_SIZE], struct err *err);

/* Put it back where it was. -EEXIST if something else is there now (a kept
 * copy replaces it).
 */
int quarantine_restore(const char *state, const char *id, struct err *err);

#endif /* WATCH_QUARANTINE_H */
