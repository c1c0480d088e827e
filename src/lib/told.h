/* SPDX-License-Identifier: Apache-2.0 */
/* lib/told.h - a system call that the filter refuses, in words */

#ifndef LIB_TOLD_H
#define LIB_TOLD_H

struct plan;
struct seccomp_data;
struct violation;

/* What @call is, why it is refused in a sandbox of @plan, and what would allow it,
 * into @ret, whose strings are NULL
 */
void told_fill(const struct plan *plan, const struct seccomp_data *call,
	       struct violation *ret);

#endif /* LIB_TOLD_H */
