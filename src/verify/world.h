/* SPDX-License-Identifier: Apache-2.0 */
/* verify/world.h - the places, listeners and processes that attempts are aimed at
 *
 * The host makes one set of them for the controls, and one for the sandbox.
 */

#ifndef VERIFY_WORLD_H
#define VERIFY_WORLD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attack/attack.h"
#include "verify/row.h"

struct err;

#define CANARY_PREFIX	"cloche-canary-"
#define PASSED_VARIABLE	"VERIFY_PASSED"

enum {
	CANARY_HEX = 32,	/* 128 bits */
	CANARY_TEXT = sizeof(CANARY_PREFIX) - 1 + CANARY_HEX,
	CANARY_LINE = CANARY_TEXT + 16,
	NEEDLE = 15,		/* What is looked for: fits a process's name */
	ROOT_MAX = 1024,
	ROWS_MAX = 512,
	PLANTED_TIME = 1000000000,	/* Of every planted file */
};

/**
 * struct found - What an attempt came back with
 * @error:	0, an errno, or ATTACK_*
 */
struct found {
	int error;
	size_t len;
	char bytes[ATTACK_FOUND_MAX];
};

/**
 * struct world - What an attempt needs to know; nothing secret
 * @root:	The scratch directory: home, project and away are below it
 * @name:	Random, of sockets, keys and files; not the canary
 * @own:	An address of this machine, with @own_port
 * @victim:	A process outside
 * @init:	The first process of the sandbox; in a control, the victim
 * @key:	Of System V objects outside
 */
struct world {
	char root[ROOT_MAX];
	char name[CANARY_HEX + 1];
	char own[64];
	int tcp4, own_port, udp;
	pid_t victim, init;
	int key;
	bool inside;
};

enum listener {
	LISTENER_STREAM, LISTENER_DGRAM, LISTENER_LOCAL, LISTENER_LOCAL_DGRAM,
	LISTENER_ABSTRACT, LISTENER_FIFO, LISTENER_TCP4, LISTENER_OWN,
	LISTENER_UDP, LISTENERS,
};

/**
 * struct target - A world as its maker knows it
 * @w:		What attempts are told
 * @canary:	The secret, in hexadecimal
 * @text:	CANARY_PREFIX and @canary
 * @listeners:	-1 where there is none
 * @shm, @msg:	System V objects, -1 where there are none
 * @lock:	Held while the scratch directory is in use
 * @heard:	Rows whose word a listener received
 * @nameless:	A listener heard something that names no row
 * @lenient:	A connection without a word is no news
 * @open:	The user's own rules lead to the listeners: nor is it then
 */
struct target {
	struct world w;
	char canary[CANARY_HEX + 1];
	char text[CANARY_TEXT + 1];
	int listeners[LISTENERS];
	int shm, msg, lock;
	bool heard[ROWS_MAX];
	bool nameless, lenient, open;
};

/* A word of the table: H/, P/ and A/ are home, project and away; +n is the
 * name, +c @canary (may be NULL), +v the victim, +i the first process, +p, +o
 * and +u ports, +a our address, +k the key, +h our host name
 */
void world_expand(const struct world *w, const char *text, const char *canary,
		  char *ret, size_t size);

/* Make the attempt of row @number in a child of its own */
void world_try(const struct world *w, size_t number, struct found *ret);

/* verify-own.c: an attempt on the user's own files, or NULL */
const struct attempt *own_attempt(const char *name);

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

/* Replace that file, or the settings, as an editor does: rename a new one over
 * it
 */
int target_replace(struct target *t, const struct verify_row *row);

/* In a child that is about to try: the caller's environment, descriptors and,
 * with @keys, keyring, with the canary in each
 */
void target_arm(const struct target *t, bool keys);

/* Replace a victim that was killed */
int target_revive(struct target *t, struct err *err);
/* True if a signal, with time to do its work, has not ended it */
bool target_stays_alive(const struct target *t);

/* The value of PASSED_VARIABLE, a secret that a sandbox is given; and whether a
 * command line of the host shows it
 */
void passed_secret(const struct target *t, char ret[static CANARY_HEX + 1]);
bool seen_in_command_lines(const struct target *t);

/* listen.c: open all listeners of @t and fill in its ports */
void listen_open(struct target *t);
/* Take down what the listeners heard so far */
void target_listen(struct target *t);
/* In a process of its own: answer the requests of the first connection */
void listen_answer(int listener) __attribute__((noreturn));

#endif /* VERIFY_WORLD_H */
