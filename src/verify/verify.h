/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify.h - the table of attempts; what they are aimed at; the verification */

#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attack/attack.h"
#include "base/mem.h"
#include "plan/tier.h"
#include "run/options.h"

struct buf;
struct err;
struct plan;
struct settings_report;
struct view;

enum verify_group_id {
	GROUP_LAUNCH, GROUP_HIDDEN, GROUP_PROTECTED, GROUP_PROCESS,
	GROUP_DESCRIPTORS, GROUP_SYSCALLS, GROUP_NETWORK, GROUP_PROXY,
	GROUP_SECRETS, GROUP_LIFECYCLE, GROUPS,
};

enum verify_proof {
	PROOF_INTACT, PROOF_ABSENT, PROOF_MOUNTS, PROOF_BYTES, PROOF_READS,
	PROOF_CALL, PROOF_HIT, PROOF_ALIVE, PROOF_SAME, PROOF_GONE,
	PROOF_EITHER, PROOF_OWN, PROOF_LINK, PROOF_SEEN, PROOF_SENT,
};

enum {
	WHEN_QUICK = 1, WHEN_FULL = 2,
	WHEN_MAYBE = 4,		/* Refused outside as well, it is not tested */
	WHEN_ACT = 8,		/* The host acts when it receives "!" */
	WHEN_FROZEN = 16,	/* No rule of the user may allow it */
	WHEN_MOVED = 32,	/* With a cloche that is in the project */
	WHEN_SERVED = 64,	/* A server answers the first request */
	WHEN_TWICE = 128,	/* In two runs, one after the other */
};

/**
 * struct verify_row - See rows.c
 * @options:	It has a sandbox of its own, with these; NULL: it has not
 */
struct verify_row {
	const char *id;
	char severity;
	enum verify_group_id group;
	enum guarantee guarantee;
	int when;
	const char *attempt;
	enum verify_proof proof;
	const char *target, *title, *options;
};

struct verify_group {
	const char *name, *title;
};

extern const struct verify_row verify_rows[];
extern const size_t verify_rows_len;
extern const struct verify_group verify_groups[GROUPS];

#define CANARY_PREFIX	"cloche-canary-"
#define PASSED_VARIABLE	"VERIFY_PASSED"
#define BOUND_VARIABLE	"VERIFY_BOUND"
#define BOUND_PREFIX	"cloche-bound-"

enum {
	CANARY_HEX = 32,	/* 128 bits */
	CANARY_TEXT = sizeof(CANARY_PREFIX) - 1 + CANARY_HEX,
	CANARY_LINE = CANARY_TEXT + 16,
	NEEDLE = 15,		/* What is looked for: fits a process's name */
	ROOT_MAX = 1024,
	ROWS_MAX = 512,
	PLANTED_TIME = 1000000000,	/* Of every planted file */
	WHY_MAX = 256,
	VERIFY_SAVED = 7,
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
 * struct target - A world as its maker knows it. The host makes one for the
 * controls, and one for the sandbox.
 * @w:		What attempts know
 * @canary:	The secret, in hexadecimal
 * @text:	CANARY_PREFIX and @canary
 * @listeners:	-1 where there is none
 * @shm, @msg:	System V objects, -1 where there are none
 * @lock:	Held while the scratch directory is in use
 * @heard:	Rows whose word a listener received
 * @sent:	Rows whose word came with the canary
 * @nameless:	A listener received something that names no row
 * @lenient:	A connection without a word does not count as that
 * @open:	The user's own rules lead to the listeners: nothing counts as that
 */
struct target {
	struct world w;
	char canary[CANARY_HEX + 1];
	char text[CANARY_TEXT + 1];
	int listeners[LISTENERS];
	int shm, msg, lock;
	bool heard[ROWS_MAX], sent[ROWS_MAX];
	bool nameless, lenient, open;
};

enum verify_verdict {
	VERDICT_PASS, VERDICT_FAIL, VERDICT_INCONCLUSIVE, VERDICT_CHOICE,
	VERDICT_SKIP, VERDICTS,
};

/**
 * struct verify_result - Of one row
 * @asked:	It is part of this mode
 * @control:	The attempt outside succeeded
 * @hit:	It worked, as the run showed: PROOF_OWN, SEEN and GONE
 * @control_error: errno of the control
 * @found:	What came back from inside
 * @layer:	What stopped it, a literal; "" if nothing did
 * @why:	The reason for a verdict other than PASS
 */
struct verify_result {
	bool asked, control, hit;
	int control_error;
	struct found found;
	enum verify_verdict verdict;
	const char *layer;
	char why[WHY_MAX];
};

/**
 * struct verify - All of it
 * @program:	The cloche to verify
 * @own:	The user's options
 * @words:	The same for `cloche run`, NULL at the end; paths absolute
 * @full:	Also what takes long
 * @plan:	The user's own plan, in the user's own directory
 * @settings:	The files behind it
 * @view:	The same policy in the scratch project
 * @saved:	The caller's variables that change meanwhile
 * @parent:	Where scratch directories are made
 * @exe:	cloche-verify, at a path that the sandbox shows
 * @ms:		How long everything took
 * @failure:	What cloche itself printed on standard error
 */
struct verify {
	const char *program;
	struct options own;
	struct strings words;
	bool full;
	int json;
	const struct plan *plan;
	const struct settings_report *settings;
	const struct view *view;
	char *saved[VERIFY_SAVED];
	char parent[PATH_MAX], exe[PATH_MAX];
	struct target target;
	struct verify_result *results;
	uint64_t ms;
	char failure[WHY_MAX / 2];
	unsigned int counts[VERDICTS];
};

/* True if the sandbox of @row has a bound secret of its own */
bool row_binds(const struct verify_row *row);

/* True once a signal asked us to end: failures after that are not reported */
bool verify_is_over(void);
/* Copy a program to a new file */
int verify_copy(const char *from, const char *to, struct err *err);
/* In a child: the caller's environment and directory, but for state and caches */
void verify_go_home(const struct verify *v);

/* world.c: the attempt of @row is called @name */
bool row_is(const struct verify_row *row, const char *name);

/* Expand an argument of the table: H/, P/ and A/ are home, project and away; +n is
 * the name, +c @canary (may be NULL), +v the victim, +i the first process, +p, +o
 * and +u ports, +a our address, +k the key, +h our host name. The caller frees.
 */
char *world_path(const struct world *w, const char *text, const char *canary);
/* The same with the canary */
char *target_path(const struct target *t, const char *text);

/* Make the attempt of row @number in a child of its own, which begins with
 * @prepare(@arg) unless that is NULL
 */
void world_try(const struct world *w, size_t number,
	       void (*prepare)(const void *arg), const void *arg,
	       struct found *ret);

/* Make everything below a new directory in @parent. 0 or a negative errno with
 * a message; target_done() also after a failure.
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

/* Start a process called @name, with @argument and the caller's environment, which waits:
 * its number once it runs, or -1
 */
pid_t victim_start(const struct target *t, const char *name, const char *argument);

/* Replace a victim that was killed */
int target_revive(struct target *t, struct err *err);
/* True if a signal, with time to do its work, has not ended it */
bool target_stays_alive(const struct target *t);

/* The value of PASSED_VARIABLE, a secret that a sandbox is given; and whether a
 * command line of the host shows it
 */
void passed_secret(const struct target *t, char ret[static CANARY_HEX + 1]);
bool seen_in_command_lines(const struct target *t);
/* The value of BOUND_VARIABLE, which no profile passes: BOUND_PREFIX and the halves of the
 * canary, the second first. The caller frees.
 */
char *bound_secret(const struct target *t);

/* listen.c: open all listeners of @t and fill in its ports */
void listen_open(struct target *t);
/* Take down what the listeners heard so far */
void target_listen(struct target *t);
/* In a process of its own: answer the requests of the first connection */
void listen_answer(int listener) __attribute__((noreturn));

/* verify-control.c: try every row outside, in a world of its own. 0 or a
 * negative errno with a message.
 */
int verify_controls(struct verify *v, struct err *err);

/* verify-launch.c: the sandbox with all attempts that can share one; then those
 * that need one each
 */
int verify_main_run(struct verify *v, struct err *err);
int verify_row_runs(struct verify *v, struct err *err);

/* verify-own.c: what the user's own rules hide or protect (row "own-writes") and
 * exists, a NUL after each path; and whether the attempts on it worked
 */
void own_collect(const struct verify *v, bool write, struct buf *feed);
bool own_hit(const struct verify *v, bool write, const struct buf *feed,
	     const struct found *f);

/* verify-inside.c: put what a sandbox reported into the results */
void verify_take_report(struct verify *v, char *text);
/* In the sandbox: make the attempts of one run; @argv is what the host passed.
 * Returns an exit status.
 */
int verify_attempt(int argc, char **argv);

/* verify-proof.c: did the attempt of @row work, as far as the host can tell?
 * @view is the policy of the scratch project, or NULL.
 */
bool proof_hit(struct target *t, const struct view *view, size_t number,
	       const struct verify_row *row, const struct found *f);

/* verify-verdict.c: all verdicts, from what is known by then */
void verify_decide(struct verify *v);

/* verify-print.c */
void verify_print(const struct verify *v, struct buf *out);
void verify_print_json(const struct verify *v, struct buf *out);

#endif /* VERIFY_VERIFY_H */
