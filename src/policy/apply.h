/* SPDX-License-Identifier: Apache-2.0 */
/* policy/apply.h - facts become a policy
 *
 * Inside of policy/: apply.c has the types of the schema, apply-credentials.c
 * and apply-rules.c the two large ones.
 */

#ifndef POLICY_APPLY_H
#define POLICY_APPLY_H

#include <stddef.h>

#include "policy/origin.h"

struct err;
struct fact;
struct facts;
struct locks;
struct policy;
struct reader;

/**
 * struct apply - What all of it works on
 */
struct apply {
	const struct facts *facts;
	struct policy *policy;
	struct locks *locks;
	const struct reader *reader;
	struct err *err;
};

/* Which facts to look at, in the order of the calls */
enum apply_pass {
	APPLY_STICKY,	/* Switches that stay, whoever set them */
	APPLY_MANAGED,	/* Scalars and denials of managed files */
	APPLY_OTHERS,	/* Those of all others */
	APPLY_ALLOW,	/* What opens, of all files: the denials are known */
};

/* 0, or a negative errno with words */
int apply_facts(const struct apply *apply, enum apply_pass pass);

/* The origin of entry @index of @fact's list; APPLY_WHOLE for the value */
#define APPLY_WHOLE	((size_t)-1)
struct origin apply_origin(const struct fact *fact, size_t index);

/* A problem with entry @index: as document_problem() */
int apply_problem(const struct apply *apply, const struct fact *fact,
		  size_t index, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Note that entry @index of @fact does not count, and why */
struct refusal;
void apply_note_refusal(const struct apply *apply, const struct fact *fact,
			size_t index, const struct refusal *refusal);

/* "must be a list of paths", by the fact's type: as apply_problem() */
int apply_wrong_type(const struct apply *apply, const struct fact *fact);

/* One fact each, which the locks have admitted. 0, or -EINVAL with words. */
int apply_list(const struct apply *apply, const struct fact *fact);
int apply_reasons(const struct apply *apply, const struct fact *fact);
int apply_ignores(const struct apply *apply, const struct fact *fact);
int apply_tls(const struct apply *apply, const struct fact *fact);
int apply_credentials(const struct apply *apply, const struct fact *fact);
int apply_rules(const struct apply *apply, const struct fact *fact);

#endif /* POLICY_APPLY_H */
