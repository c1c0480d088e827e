/* SPDX-License-Identifier: Apache-2.0 */
/* policy/apply.h - apply the facts of settings files to a policy; for src/policy only */

#ifndef POLICY_APPLY_H
#define POLICY_APPLY_H

#include "policy/document.h"
#include "policy/managed.h"

/**
 * struct apply - What all of it works on
 * @asks:	How to tell what an entry asks for
 * @id:		The key of the repository's approvals
 * @approves, @arg: As in struct settings_request
 */
struct apply {
	const struct facts *facts;
	struct policy *policy;
	struct managed *locks;
	const struct ask_context *asks;
	const char *id;
	bool (*approves)(void *arg, enum authority authority, const char *id,
			 const char *line);
	void *arg;
};

/* Which facts to look at, in the order of the calls */
enum apply_pass {
	APPLY_STICKY,	/* Switches that stay, in whichever file */
	APPLY_MANAGED,	/* Scalars and denials of managed files */
	APPLY_PROFILE,	/* The profile: what is open without settings */
	APPLY_OTHERS,	/* Those of all others */
	APPLY_ALLOW,	/* What opens, of all files: the denials are known */
};

/* 0, or a negative errno with a message in the facts' err */
int apply_facts(const struct apply *apply, enum apply_pass pass);

/* Mark the files whose asks are approved by digest (@pinned); once the profile is
 * applied
 */
void apply_find_pinned(const struct apply *apply, const char *pinned);

/* What every file that needs approval asks for, into the report; once all that
 * denies is applied
 */
void apply_report_asks(const struct apply *apply);

#endif /* POLICY_APPLY_H */
