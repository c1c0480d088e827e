/* SPDX-License-Identifier: Apache-2.0 */
/* secret/harden.h - what a process does before it touches a secret */

#ifndef SECRET_HARDEN_H
#define SECRET_HARDEN_H

struct err;

/* For programs of ours that hold secrets: no core dump, no ptrace by others of
 * the same user, private new files, as much lockable memory as there
 * may be, a file too large or a lost reader is an error instead of a signal,
 * and standard descriptors that are open, so that no store file can become
 * "standard output". 0 or a negative errno.
 */
int harden_process(struct err *err);

#endif /* SECRET_HARDEN_H */
