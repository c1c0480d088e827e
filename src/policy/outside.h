/* SPDX-License-Identifier: Apache-2.0 */
/* policy/outside.h - blockReadsOutsideWorkingDirectories as path rules */

#ifndef POLICY_OUTSIDE_H
#define POLICY_OUTSIDE_H

struct err;
struct policy;
struct reader;

/* Deny reading everything but the system's directories and what may be
 * written, if the policy asks for it. The last step before policy_finish().
 */
int outside_deny(struct policy *policy, const struct reader *reader,
		 struct err *err);

#endif /* POLICY_OUTSIDE_H */
