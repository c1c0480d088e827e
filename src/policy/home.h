/* SPDX-License-Identifier: Apache-2.0 */
/* policy/home.h - profile home: an empty home, and what comes back into it */

#ifndef POLICY_HOME_H
#define POLICY_HOME_H

struct buf;
struct policy;

/* Add the rows of home.def to a policy of that profile */
void home_add(struct policy *p);

/* docs/deliberately-exposed.md, from the same rows */
void home_print(struct buf *out);

#endif /* POLICY_HOME_H */
