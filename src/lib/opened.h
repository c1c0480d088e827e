/* SPDX-License-Identifier: Apache-2.0 */
/* lib/opened.h - what a project's own settings open, and nobody was asked about */

#ifndef LIB_OPENED_H
#define LIB_OPENED_H

struct policy;

/* One line for the user, or NULL: the project's settings open something
 * outside it, and neither Claude Code nor `cloche policy` has the user's word
 * for it. The caller frees.
 */
char *opened_note(const struct policy *policy);

#endif /* LIB_OPENED_H */
