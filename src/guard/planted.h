/* SPDX-License-Identifier: Apache-2.0 */
/* guard/planted.h - protected names that appear during a run: find them, move
 * them to quarantine
 *
 * The observer refuses to create such names. One that is created all the same (a
 * race, no observer) is moved to quarantine: at once if it is seen, else at the
 * end of the run, or by the next run if this one is killed.
 */

#ifndef GUARD_PLANTED_H
#define GUARD_PLANTED_H

#include <stdbool.h>
#include <time.h>

struct planted;
struct err;
struct view;
struct violation_sink;

enum {
	PLANTED_ROOTS_MAX = 64,	/* Writable roots that are watched */
	PLANTED_READS_MAX = 16,	/* At once */
	PLANTED_TEXT_MAX = 1 << 20,	/* Bytes of a file that are compared */
	PLANTED_MOVES_MAX = 256,	/* Stored in quarantine of those moved at once */
};

/**
 * struct planted_config - The parameters of one run
 * @view:	As it is before the run; outlives the result
 * @state:	Our state directory
 * @run:	The run's id
 * @since:	When it began (btime_now())
 * @is_quiet:	Asked when a protected name appears: true if no call from inside
 *		can have made it since the last call of planted_dispatch(), so that it
 *		is the user's own. May be NULL: then it never is.
 */
struct planted_config {
	const struct view *view;
	const char *state, *run;
	const struct violation_sink *sink;
	struct timespec since;
	bool (*is_quiet)(void *arg);
	void *arg;
};

/* Clean up after runs that were killed. Call it before reading anything that they
 * could have planted. @home is the user's, or NULL.
 */
void planted_replay(const char *state, const char *home,
		 const struct violation_sink *sink);

/* Prepare to watch a run; planted_arm() begins */
void planted_new(const struct planted_config *config, struct planted **ret);

/* Write the journal and begin to watch, before anything can be planted. A run that
 * never writes needs neither. 0, or a negative errno with a message: then the
 * watch is not complete. A second call does nothing.
 */
int planted_arm(struct planted *planted, struct err *err);
void planted_free(struct planted *planted);

/* For the loop (EPOLLIN), or -1 if there is nothing to wait for (yet) */
int planted_fd(const struct planted *planted);
/* The descriptor of the locked journal, or -1 */
int planted_journal_fd(const struct planted *planted);
/* Check the names that have appeared; false if more are waiting */
bool planted_dispatch(struct planted *planted);

/* True if @path is in a place that the command can write */
bool planted_covers(const struct planted *planted, const char *path);

/* True if @path, or a directory above it, appeared during the run and is the user's */
bool planted_is_users(const struct planted *planted, const char *path);

/* True if a name of that kind has appeared since the last call */
bool planted_has_news(struct planted *planted);

/* A mount covers the file @path again, or for the first time: compare its content with
 * what the user wrote, as far as that is known. A process inside that has it open is
 * reported, and what it changes after this is restored at the end.
 */
void planted_covered(struct planted *planted, const char *path);

/* Restore the mode of writable roots that the command made unreadable */
void planted_open(const struct planted *planted);

/* An edit of the settings granted more; @view is the new one */
void planted_grant(struct planted *planted, const struct view *view);

/* The sandbox has ended: scan the writable roots if anything may have @changed; at any
 * depth, unless an observer @watched all of it and refused no name. @seen: there was
 * an observer, which saw every name that was made. 0, and the journal is removed; or a
 * negative errno with a message, and it stays for the next run.
 */
int planted_finish(struct planted *planted, bool changed, bool seen, bool watched,
		struct err *err);
/* The command never ran: remove the journal without a scan */
void planted_drop(const struct planted *planted);

#endif /* GUARD_PLANTED_H */
