/* SPDX-License-Identifier: Apache-2.0 */
/* lib/told.h - a system call that the filter refuses, in words */

#ifndef LIB_TOLD_H
#define LIB_TOLD_H

struct seccomp_data;
struct violation;

/* What @call is, and why it is refused, into @ret, whose strings are NULL */
void told_fill(const struct seccomp_data *call, struct violation *ret);

#endif /* LIB_TOLD_H */
