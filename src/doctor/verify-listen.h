/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-listen.h - listeners of the host that nobody inside may reach
 */

#ifndef DOCTOR_VERIFY_LISTEN_H
#define DOCTOR_VERIFY_LISTEN_H

struct target;

/* Open all of @t; its ports are filled in. 0 or a negative errno. */
int listen_open(struct target *t);

/* The place that a row's target names, or HEARD_PLACES */
int listen_place(const char *name);

#endif /* DOCTOR_VERIFY_LISTEN_H */
