/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-world.h - the places, listeners and processes that attempts
 * are aimed at; made by the host, one set for the controls, one for real
 */

#ifndef DOCTOR_VERIFY_WORLD_H
#define DOCTOR_VERIFY_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/verify-row.h"

struct err;

#define CANARY_PREFIX	"cloche-canary-"
#define PASSED_VARIABLE	"VERIFY_PASSED"

enum {
	CANARY_TEXT = sizeof(CANARY_PREFIX) - 1 + CANARY_HEX,
	CANARY_LINE = CANARY_TEXT + 16,
	HEARD_ROWS = 512,	/* At most so many rows */
	PLANTED_TIME = 1000000000,	/* Of every planted file */
};

enum heard_at {
	HEARD_STREAM, HEARD_DGRAM, HEARD_LOCAL, HEARD_LOCAL_DGRAM,
	HEARD_ABSTRACT, HEARD_FIFO,
	HEARD_TCP4, HEARD_OWN, HEARD_UDP, HEARD_PLACES,
};

/**
 * struct target - A world as its maker knows it
 * @w:		What attempts are told
 * @canary:	The secret, in hexadecimal
 * @text:	CANARY_PREFIX and @canary
 * @listeners:	By place, -1 where there is none
 * @shm, @msg:	System V objects, -1 where there are none
 * @lock:	Held while the scratch place is in use
 * @heard:	Rows whose word a listener received
 * @nameless:	A listener heard something that names no row
 * @lenient:	A connection without a word is no news
 * @open:	The user's own rules lead to the listeners: nor is it then
 */
struct target {
	struct world w;
	char canary[CANARY_HEX + 1];
	char text[CANARY_TEXT + 1];
	int listeners[HEARD_PLACES];
	int shm, msg, lock;
	bool heard[HEARD_ROWS];
	bool nameless, lenient, open;
};

/* Make everything below a new directory in @parent. 0 or a negative errno with
 * words; target_done() also after a failure.
 */
int target_make(struct target *t, const char *parent, struct err *err);
void target_done(struct target *t);

/* The text of a planted file at @path, and where a planted link leads */
void canary_line(const struct target *t, const char *path,
		 char ret[static CANARY_LINE]);
void link_end(const char *path, char *ret, size_t size);

/* Put the file there that @row is about, and what its directory needs */
int target_plant(struct target *t, const struct verify_row *row);

/* Replace that file, or the one of its argument, as an editor does: a new one
 * is renamed over it
 */
int target_replace(struct target *t, const struct verify_row *row);

/* In a child that is about to try: the caller's environment, descriptors and,
 * with @keys, keyring, with the canary in each
 */
void target_arm(const struct target *t, bool keys);

/* A victim that was killed is replaced */
int target_revive(struct target *t, struct err *err);
/* True if a signal, with time to do its work, has not ended it */
bool target_stays_alive(const struct target *t);

/* The value of PASSED_VARIABLE: a secret that a sandbox was given, and no
 * command line of the host shows. True if one does.
 */
void passed_secret(const struct target *t, char ret[static CANARY_HEX + 1]);
bool seen_in_command_lines(const struct target *t);

/* Take down what the listeners heard so far */
void target_listen(struct target *t);

#endif /* DOCTOR_VERIFY_WORLD_H */
