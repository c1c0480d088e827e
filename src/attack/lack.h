/* SPDX-License-Identifier: Apache-2.0 */
/* attack/lack.h - refuse system calls as a kernel that lacks a mechanism does */

#ifndef ATTACK_LACK_H
#define ATTACK_LACK_H

/* From now on the calls of @what ("userns", or several, with commas between)
 * fail, as in a container: a filter of our own stands for the kernel. How many
 * calls that are, or a negative errno.
 */
int lack_of(const char *what);

#endif /* ATTACK_LACK_H */
