/* SPDX-License-Identifier: Apache-2.0 */
/* learn/needs.h - refusals of trial runs as lines of a policy; and what is never one */

#ifndef LEARN_NEEDS_H
#define LEARN_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct policy;
struct violation;

enum {
	NEEDS_MAX = 64,		/* Lines */
	NEEDS_REFUSED_MAX = 64,	/* Refusals that are no line, with the reason */
	NEEDS_FILES_MANY = 3,	/* So many files of a directory stand for all of it */
};

/* What a line allows; the name of the kind is that of `cloche policy allow` */
enum need_kind {
	NEED_HOST, NEED_READ, NEED_WRITE, NEED_SOCKET, NEED_PORT,
	NEED_KINDS,
};

/**
 * struct need - One line of a policy that the command may need
 * @value:	Host, path or port
 * @program:	The program that was refused, or NULL
 * @round:	The trial run that first met the refusal
 * @dropped:	Why the line is left out in the end, or NULL
 * @made:	The directory did not exist and was made for the trial runs
 */
struct need {
	enum need_kind kind;
	char *value, *program;
	unsigned int round;
	const char *dropped;
	bool made;
};

/**
 * struct needs - What trial runs have shown so far; set @policy
 * @refused:	"read /home/ann/.netrc (passwords by host)": no line allows these
 * @untried:	Commands that allow what only a real run can try
 * @unsaid:	How many more of either there were
 * @round:	The current trial run, from 1 on
 */
struct needs {
	const struct policy *policy;
	struct { struct need *v; size_t len, cap; } lines;
	struct strings refused, untried;
	size_t unsaid;
	unsigned int round;
};

void needs_done(struct needs *needs);

/* Take in a refusal of the current trial run */
void needs_add(struct needs *needs, const struct violation *v);

/* The trial run has ended: names that differ between runs become their directory, or
 * are dropped. True if a line is new or has changed.
 */
bool needs_end_round(struct needs *needs);

/* Its name, the option of run that allows the same, and the key of settings files */
extern const struct need_row {
	const char *name, *option, *key;
} need_rows[NEED_KINDS];

#endif /* LEARN_NEEDS_H */
