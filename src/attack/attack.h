/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack.h - attempts that a sandbox must stop, by name
 *
 * One set of them, for cloche-verify and for the probe of tests/attack. They
 * decide nothing: an attempt reports an errno and what it learned.
 */

#ifndef ATTACK_ATTACK_H
#define ATTACK_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	ATTACK_FOUND_MAX = 2048,	/* Bytes that an attempt may bring back */
	ATTACK_PREFIX_HEX = 17,		/* 8 bytes of a file, as text */
	ATTACK_SECONDS = 5,
	ATTACK_SIGNAL = 1 << 16,	/* Ended by the signal in the low bits */
	ATTACK_NOTHING = 1 << 20,	/* Never ended */
};

/**
 * struct found - What an attempt came back with
 * @error:	0, an errno or ATTACK_*
 * @bytes:	@len bytes that were learned
 */
struct found {
	int error;
	size_t len;
	char bytes[ATTACK_FOUND_MAX];
};

/**
 * struct attack - One attempt
 * @argv:	Its arguments
 * @word:	What a listener is sent, to tell attempts apart; NULL: "x", and
 *		nothing where a connection is all there is
 * @control:	Outside, where it must succeed: there is no gate, and no host
 *		that acts meanwhile
 * @print:	Print what is learned, a line each, instead of keeping it
 * @prepare:	Called with @world in the child, before the attempt; or NULL
 */
struct attack {
	const char *name;
	char **argv;
	const char *word;
	bool control, print;
	void (*prepare)(const void *world);
	const void *world;
	struct found found;
};

/**
 * struct attempt - A row: the function returns 0 or a negative errno
 * @args:	How many arguments; -1: one or more
 */
struct attempt {
	const char *name;
	int (*fn)(struct attack *a);
	int args;
};

/* Ending with an empty row */
extern const struct attempt attack_files[], attack_calls[], attack_processes[],
	attack_net[], attack_gate[];

/* NULL if nothing is called so */
const struct attempt *attack_find(const char *name);

/* Make the attempt in a child of its own, and set @a->found. At most @seconds, or
 * 0: as long as it takes.
 */
void attack_run(const struct attempt *attempt, struct attack *a,
		unsigned int seconds);

/* For attempts: 0 or -errno of what a system call returned */
int attack_result(long r);
/* An attempt that is one call */
#define ATTEMPT(fn, call)						\
	static int fn(struct attack *a)					\
	{								\
		(void)a;						\
		return attack_result(call);				\
	}
void attack_learn(struct attack *a, const void *bytes, size_t n);
/* Read @fd, which may be -1 with errno, and close it */
int attack_read(struct attack *a, int fd);
/* Make the directories that @path is in */
void attack_make_parents(const char *path);
/* The first bytes of a file in hexadecimal, "" if it cannot be read */
void attack_prefix(const char *path, char ret[static ATTACK_PREFIX_HEX]);
/* Write where cloche-verify looks for a change */
int attack_mark(const char *path, int flags);
/* Tell the host to act, and wait until it has */
void attack_after_host(const struct attack *a);

/* A connected socket with time limits, or -1 with errno */
int attack_dial(const char *host, const char *port, int type);
/* Send the word; 0 or a negative errno */
int attack_say(const struct attack *a, int fd);

/* lack.c - refuse system calls as a kernel that lacks a mechanism does */

/* From now on the calls of @what ("userns", or several, with commas between)
 * fail, as in a container: a filter of our own stands for the kernel. How many
 * calls that are, or a negative errno.
 */
int lack_of(const char *what);

#endif /* ATTACK_ATTACK_H */
