/* SPDX-License-Identifier: Apache-2.0 */
/* lib/frozen.h - what no command may change, wherever it was installed or named:
 * our own programs, and settings files of earlier runs
 */

#ifndef LIB_FROZEN_H
#define LIB_FROZEN_H

struct options;
struct policy;

/* Deny writing to all of it */
void frozen_add(struct policy *policy);

/* Remember the file of --settings for runs that do not name it */
void frozen_remember(const struct options *options,
		     const struct policy *policy);

#endif /* LIB_FROZEN_H */
