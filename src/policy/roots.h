/* SPDX-License-Identifier: Apache-2.0 */
/* policy/roots.h - where the administrator's files are
 *
 * roots.c is what we ship: a constant. roots-test.c is linked into the test
 * program only and obeys $CLOCHE_ROOT_ETC: whoever can set a variable must not
 * choose the managed policy.
 */

#ifndef POLICY_ROOTS_H
#define POLICY_ROOTS_H

/* "/etc" */
const char *roots_etc(void);

#endif /* POLICY_ROOTS_H */
