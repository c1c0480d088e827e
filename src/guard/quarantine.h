/* SPDX-License-Identifier: Apache-2.0 */
/* guard/quarantine.h - move planted files away, restore them on request
 *
 * STATE/quarantine/ID/ holds "item" (the planted file) and "meta.json" (its path
 * and the reason). Nothing in it is deleted.
 */

#ifndef GUARD_QUARANTINE_H
#define GUARD_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;
struct violation_sink;

enum {
	QUARANTINE_ID_SIZE = 13,	/* 12 characters */
	QUARANTINE_ENTRIES_MAX = 1 << 17, /* Names that a run has copied here */
	QUARANTINE_BYTES_MAX = 1 << 28,	/* Bytes of those */
	QUARANTINE_DEPTH_MAX = 64,
	QUARANTINE_SYNCED_MAX = 16,	/* Entries that are synced one by one */
};

/* Move @path (absolute; no component may be a symbolic link but the last,
 * which is moved itself) away. @state is our state directory, @run and @reason
 * are for the record. 0 and the new id; 1, with a message, if it could not be moved
 * and was renamed in its directory to a name that no program obeys; -ENOENT
 * if it does not exist; or a negative errno with a message. With @ret_renamed a directory
 * only gets that other name, since a copy takes long: then that is its inode.
 */
int quarantine_move(const char *state, const char *path, const char *run,
		    const char *reason, ino_t *ret_renamed,
		    char ret_id[QUARANTINE_ID_SIZE], struct err *err);

/* Move a directory that quarantine_move() only renamed, if it is still there. 0, or a negative
 * errno with a message: then it stays, and can still be restored.
 */
int quarantine_collect(const char *state, const char *path, ino_t ino,
		       const char *id, struct err *err);

/* Put it back where it was. -EEXIST if something else is there now (a kept
 * copy replaces it).
 */
int quarantine_restore(const char *state, const char *id, struct err *err);

/**
 * struct quarantine_pending - Directories that were renamed while the command runs
 *		and are moved to quarantine when it has ended
 * @id:		Of the entry in quarantine
 */
struct quarantine_pending {
	struct quarantine_renamed { char *id, *path; ino_t ino; } *v;
	size_t len, cap;
};

/**
 * struct quarantine_config - The store and the report of one run
 * @state:	Our state directory
 * @run:	The run's id
 * @full:	The limit of the run is reached: remove files instead of keeping them
 * @pending:	Where renamed directories are noted, while the command runs; or NULL
 */
struct quarantine_config {
	const char *state, *run;
	const struct violation_sink *sink;
	bool full;
	struct quarantine_pending *pending;
};

/* The path to move for the planted @path below @root: itself, or the first symbolic
 * link on the way to it. The caller frees.
 */
char *quarantine_target(const char *root, const char *path);

/* quarantine_move() and report it. True if @path is gone. */
bool quarantine_and_report(const struct quarantine_config *config, const char *path,
			   const char *reason);

/* quarantine_collect() all of @pending; what cannot be moved is reported */
void quarantine_collect_pending(const struct quarantine_config *config,
				const struct quarantine_pending *pending);

/* Keep @old, the bytes of the file @path in @dir, replace them by @text, and report
 * it. True if the file was replaced.
 */
bool quarantine_rewrite(const struct quarantine_config *config, int dir,
			const char *path, const struct buf *old,
			const struct buf *text, const char *reason);

/* Sync what was not synced one by one: before the run's journal is removed. 0, or a
 * negative errno with a message.
 */
int quarantine_sync(struct err *err);

#endif /* GUARD_QUARANTINE_H */
