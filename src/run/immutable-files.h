/* SPDX-License-Identifier: Apache-2.0 */
/* run/immutable-files.h - what no command may change, wherever it was installed or named:
 * our own programs, and settings files of earlier runs
 */

#ifndef RUN_IMMUTABLE_FILES_H
#define RUN_IMMUTABLE_FILES_H

struct options;
struct policy;

/* Deny writing to all of it */
void immutable_files_add(struct policy *policy);

/* Remember the file of --settings for runs that do not name it */
void immutable_files_remember(const struct options *options,
		     const struct policy *policy);

#endif /* RUN_IMMUTABLE_FILES_H */
