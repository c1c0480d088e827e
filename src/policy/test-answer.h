/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-answer.h - what a policy says to one question, as text */

#ifndef POLICY_TEST_ANSWER_H
#define POLICY_TEST_ANSWER_H

struct buf;
struct policy;
struct settings_report;

/* Append the answer, one or more lines. Questions: tests/cases/README. */
void answer(const struct policy *policy, const struct settings_report *report,
	    const char *question, struct buf *out);

#endif /* POLICY_TEST_ANSWER_H */
