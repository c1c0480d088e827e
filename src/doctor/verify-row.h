/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-row.h - the rows of verify.def, and the world they are tried in
 */

#ifndef DOCTOR_VERIFY_ROW_H
#define DOCTOR_VERIFY_ROW_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/tier.h"

enum verify_group {
#define GROUP(id, ...) VERIFY_GROUP_##id,
#include "doctor/verify.def"
	VERIFY_GROUPS,
};

enum verify_proof {
	PROOF_INTACT, PROOF_ABSENT, PROOF_MOUNTS, PROOF_BYTES, PROOF_READS, PROOF_CALL,
	PROOF_HIT, PROOF_ALIVE, PROOF_SAME, PROOF_GONE, PROOF_EITHER,
	PROOF_OWN, PROOF_LINK, PROOF_SEEN,
};

enum { WHEN_QUICK = 1, WHEN_FULL = 2, WHEN_MAYBE = 4, WHEN_ALONE = 8 };

enum {
	CANARY_HEX = 32,	/* 128 bits */
	NEEDLE = 15,		/* What is looked for: fits a process's name */
	FOUND_MAX = 2048,	/* Bytes that an attempt may bring back */
	FOUND_NOTHING = 1 << 20,	/* The attempt never ended */
	FOUND_SIGNAL = 1 << 16,	/* Ended by the signal in the low bits */
	ATTEMPT_SECONDS = 5,
	ROOT_MAX = 1024,
};

/**
 * struct world - What an attempt needs to know; nothing secret
 * @root:	The scratch place: home, project and away are below it
 * @name:	Random, of sockets, keys and files; not the canary
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

/**
 * struct found - What an attempt came back with
 * @row:	Which one it was, for listeners to recognise
 * @error:	0, an errno, or FOUND_*
 */
struct found {
	size_t row;
	int error;
	size_t len;
	char bytes[FOUND_MAX];
};

typedef void attempt_fn(const struct world *w, const char *argument,
			struct found *f);

/**
 * struct verify_row - See verify.def
 */
struct verify_row {
	const char *id;
	char severity;
	enum verify_group group;
	enum guarantee guarantee;
	int when;
	attempt_fn *attempt;
	const char *argument;
	enum verify_proof proof;
	const char *target, *title;
};

#define VERIFY(id, severity, group, guarantee, when, attempt, ...) \
	attempt_fn attempt_##attempt;
#include "doctor/verify.def"

const struct verify_row *verify_rows(size_t *ret_len);
const char *verify_group_name(enum verify_group group);
const char *verify_group_words(enum verify_group group);

/* The rows that need a sandbox of their own */
bool verify_is_live(const struct verify_row *row);
/* Of these, the ones that the host acts in, when it is told to by "!" */
bool verify_has_act(const struct verify_row *row);

/* A path of the table in @w; @canary may be NULL */
void world_path(const struct world *w, const char *text, const char *canary,
		char *ret, size_t size);

/* Make one attempt in a child of its own */
void verify_try(const struct world *w, const struct verify_row *row,
		size_t number, struct found *ret);

/* Helpers of the attempts: an errno or 0; bytes to bring back */
void found_result(struct found *f, long r);
void found_bytes(struct found *f, const void *bytes, size_t n);
void found_fd(struct found *f, int fd);

/* The words that a listener hears from row @f->row */
void found_word(const struct found *f, char *ret, size_t size);

#endif /* DOCTOR_VERIFY_ROW_H */
