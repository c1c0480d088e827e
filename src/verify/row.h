/* SPDX-License-Identifier: Apache-2.0 */
/* verify/row.h - the table of attempts: see rows.c */

#ifndef VERIFY_ROW_H
#define VERIFY_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/tier.h"

enum verify_group_id {
	GROUP_LAUNCH, GROUP_HIDDEN, GROUP_PROTECTED, GROUP_PROCESS,
	GROUP_DESCRIPTORS, GROUP_SYSCALLS, GROUP_NETWORK, GROUP_PROXY,
	GROUP_SECRETS, GROUP_LIFECYCLE, GROUPS,
};

enum verify_proof {
	PROOF_INTACT, PROOF_ABSENT, PROOF_MOUNTS, PROOF_BYTES, PROOF_READS,
	PROOF_CALL, PROOF_HIT, PROOF_ALIVE, PROOF_SAME, PROOF_GONE,
	PROOF_EITHER, PROOF_OWN, PROOF_LINK, PROOF_SEEN,
};

enum {
	WHEN_QUICK = 1, WHEN_FULL = 2,
	WHEN_MAYBE = 4,		/* Refused outside as well, it is not tested */
	WHEN_ACT = 8,		/* The host acts when it is told to by "!" */
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

/* The attempt is called @name */
bool row_is(const struct verify_row *row, const char *name);

#endif /* VERIFY_ROW_H */
