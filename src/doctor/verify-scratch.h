/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-scratch.h - scratch directories that nobody leaves behind */

#ifndef DOCTOR_VERIFY_SCRATCH_H
#define DOCTOR_VERIFY_SCRATCH_H

#define SCRATCH_PREFIX	"cloche-verify-"

/* Say that @path is in use, until the descriptor is closed; -1 on failure */
int scratch_lock(const char *path);

/* Remove @path and all below it */
void scratch_remove(const char *path);

/* Remove what one that was killed has left in @parent */
void scratch_sweep(const char *parent);

#endif /* DOCTOR_VERIFY_SCRATCH_H */
