/* SPDX-License-Identifier: Apache-2.0 */
/* guard/planted.h - protected names that appear during a run, and what becomes of
 * them
 *
 * The observer refuses honest attempts. What comes into being all the same (a
 * race, no observer) is moved to quarantine: at once where it is seen, and at
 * the end of the run, or of the next one if this one is killed.
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
	PLANTED_MOVES_MAX = 256,	/* Plants that are kept of those that go at once */
};

/**
 * struct planted_config - Of one run
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

/* Clean up after runs that were killed; before anything is read or looked at
 * that they could have planted. @home is the user's, or NULL.
 */
void planted_replay(const char *state, const char *home,
		 const struct violation_sink *sink);

/* Get ready to watch this one */
void planted_new(const struct planted_config *config, struct planted **ret);

/* Before anything can be planted: write the journal, and watch. A run that
 * never writes needs neither. 0, or a negative errno with words: then the
 * watch is not complete. Called again, it does nothing.
 */
int planted_arm(struct planted *planted, struct err *err);
void planted_free(struct planted *planted);

/* For the loop (EPOLLIN), or -1 if there is nothing to wait for (yet) */
int planted_fd(const struct planted *planted);
/* The journal, or -1 */
int planted_held(const struct planted *planted);
/* Look at what has appeared; false if that is not all */
bool planted_dispatch(struct planted *planted);

/* True if @path is in a place that the command can write */
bool planted_covers(const struct planted *planted, const char *path);

/* True if @path, or what it is in, came during the run and is the user's */
bool planted_is_late(const struct planted *planted, const char *path);

/* True if something of that kind has come since the last question */
bool planted_has_news(struct planted *planted);

/* A mount holds the file @path again, or for the first time: what stands there is
 * compared with what the user wrote, as far as that is known. Who inside has it open
 * is reported, and what is changed after this put back in the end.
 */
void planted_covered(struct planted *planted, const char *path);

/* Writable roots that were closed from inside can be looked into again */
void planted_open(const struct planted *planted);

/* An edit of the settings granted more: @view is as it is now */
void planted_grant(struct planted *planted, const struct view *view);

/* The sandbox is gone: look once more at everything, if anything may have
 * @changed; at any depth, unless an observer @watched and refused nobody a name.
 * Where there was one at all, it has @seen what was made. The journal goes; or a
 * negative errno with words, and it stays: the next run looks.
 */
int planted_finish(struct planted *planted, bool changed, bool seen, bool watched,
		struct err *err);
/* Nobody has run inside: there is nothing to look for, now or by the next run */
void planted_drop(const struct planted *planted);

#endif /* GUARD_PLANTED_H */
