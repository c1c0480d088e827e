/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-listen.h - listeners of the host that nobody inside may reach
 */

#ifndef DOCTOR_VERIFY_LISTEN_H
#define DOCTOR_VERIFY_LISTEN_H

struct target;

/* Open all of @t; its ports are filled in. 0 or a negative errno. */
int listen_open(struct target *t);

/* In a process of its own: answer each HTTP request on the connections that
 * @listener gets first, and hear no words in them; never returns
 */
void listen_answer(int listener) __attribute__((noreturn));

#endif /* DOCTOR_VERIFY_LISTEN_H */
