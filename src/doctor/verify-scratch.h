/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-scratch.h - scratch directories that nobody leaves behind */

#ifndef DOCTOR_VERIFY_SCRATCH_H
#define DOCTOR_VERIFY_SCRATCH_H

#define SCRATCH_PREFIX	"cloche-verify-"
/* Names in /tmp that sandboxes make or use, which an attempt makes links of */
#define SCRATCH_LINKS	"/tmp/claude", "/tmp/.X11-unix"

/* Say that @path is in use, until the descriptor is closed; -1 on failure */
int scratch_lock(const char *path);

/* Remove @path and all below it */
void scratch_remove(const char *path);

/* Remove what one that was killed has left in @parent */
void scratch_sweep(const char *parent);

/* Links in the host's /tmp that lead into @root: an attempt whose policy shares
 * it may have left them
 */
void scratch_unlink(const char *root);

#endif /* DOCTOR_VERIFY_SCRATCH_H */
