/* SPDX-License-Identifier: Apache-2.0 */
/* policy/apply.h - facts become a policy
 *
 * Inside of policy/: apply.c has the types of the schema, apply-credentials.c
 * and apply-rules.c the two large ones.
 */

#ifndef POLICY_APPLY_H
#define POLICY_APPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/origin.h"

struct ask_context;
struct err;
struct fact;
struct facts;
struct locks;
struct policy;
struct reader;
struct settings_request;

/**
 * struct apply - What all of it works on
 * @asks:	How to tell what an entry asks for
 * @id:		What approvals of the repository are kept with
 */
struct apply {
	const struct settings_request *req;
	const struct facts *facts;
	struct policy *policy;
	struct locks *locks;
	const struct reader *reader;
	const struct ask_context *asks;
	const char *id;
	struct err *err;
};

/* Which facts to look at, in the order of the calls */
enum apply_pass {
	APPLY_STICKY,	/* Switches that stay, whoever set them */
	APPLY_MANAGED,	/* Scalars and denials of managed files */
	APPLY_PROFILE,	/* The profile: what is open without settings */
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

/* True if @entry, number @index of @fact's list, counts: who stands behind the
 * file, or that the user has approved of it. Noted if not.
 */
bool apply_admits(const struct apply *apply, const struct fact *fact,
		  size_t index, json_t *entry);

/* Which files are approved by digest; once the profile is applied */
void apply_find_pinned(const struct apply *apply);

/* What every file that needs approval asks for, into the report; once all that
 * denies is applied
 */
void apply_report_asks(const struct apply *apply);

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
