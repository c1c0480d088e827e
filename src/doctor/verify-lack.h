/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-lack.h - kernels that lack something, for the launcher to meet */

#ifndef DOCTOR_VERIFY_LACK_H
#define DOCTOR_VERIFY_LACK_H

/* From now on this process lives on a kernel without @what. 0 or a negative
 * errno.
 */
int lack_of(const char *what);

/* The option with which nothing may run then */
const char *lack_option(const char *what);

#endif /* DOCTOR_VERIFY_LACK_H */
