/* SPDX-License-Identifier: Apache-2.0 */
/* watch/born.h - protected names that appear during a run, and what becomes of
 * them
 *
 * The observer refuses honest attempts. What comes into being all the same (a
 * race, no observer) is moved to quarantine: at once where it is seen, and at
 * the end of the run, or of the next one if this one is killed.
 */

#ifndef WATCH_BORN_H
#define WATCH_BORN_H

#include <stdbool.h>
#include <time.h>

struct born;
struct err;
struct view;
struct violation_sink;

enum {
	BORN_ROOTS_MAX = 64,	/* Writable roots that are watched */
	BORN_READS_MAX = 16,	/* At once */
	BORN_MOVES_MAX = 256,	/* Plants that are kept of those that go at once */
};

/**
 * struct born_config - Of one run
 * @view:	As it is before the run; outlives the result
 * @state:	Our state directory
 * @run:	The run's id
 * @since:	When it began (birth_now())
 * @is_quiet:	Asked when a protected name appears: true if no call from inside
 *		can have made it since the last call of born_dispatch(), so that it
 *		is the user's own. May be NULL: then it never is.
 */
struct born_config {
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
void born_replay(const char *state, const char *home,
		 const struct violation_sink *sink);

/* Get ready to watch this one */
void born_new(const struct born_config *config, struct born **ret);

/* Before anything can be planted: write the journal, and watch. A run that
 * never writes needs neither. 0, or a negative errno with words: then the
 * watch is not complete. Called again, it does nothing.
 */
int born_arm(struct born *born, struct err *err);
void born_free(struct born *born);

/* For the loop (EPOLLIN), or -1 if there is nothing to wait for (yet) */
int born_fd(const struct born *born);
/* The journal, or -1 */
int born_held(const struct born *b);
/* Look at what has appeared; false if that is not all */
bool born_dispatch(struct born *born);

/* True if @path is in a place that the command can write */
bool born_covers(const struct born *born, const char *path);

/* True if @path, or what it is in, came during the run and is the user's */
bool born_is_late(const struct born *born, const char *path);

/* True if something of that kind has come since the last question */
bool born_has_news(struct born *born);

/* Writable roots that were closed from inside can be looked into again */
void born_open(const struct born *born);

/* An edit of the settings granted more: @view is as it is now */
void born_grant(struct born *born, const struct view *view);

/* The sandbox is gone: look once more at everything, if anything may have
 * @changed; at any depth, unless an observer @watched and refused nobody a name.
 * Where there was one at all, it has @seen what was made. The journal goes; or a
 * negative errno with words, and it stays: the next run looks.
 */
int born_finish(struct born *born, bool changed, bool seen, bool watched,
		struct err *err);
/* Nobody has run inside: there is nothing to look for, now or by the next run */
void born_drop(const struct born *born);

#endif /* WATCH_BORN_H */
