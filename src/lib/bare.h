/* SPDX-License-Identifier: Apache-2.0 */
/* lib/bare.h - when and how a command runs without a sandbox
 *
 * Only with --allow-unsandboxed, only where the settings say so, never where
 * they forbid it, and always said out loud.
 */

#ifndef LIB_BARE_H
#define LIB_BARE_H

struct err;
struct options;
struct policy;

/* Whether @argv may run without a sandbox: 1 with *@ret_why as words to free;
 * 0 if not, with *@ret_why as words for a note or NULL; or -EPERM with words
 * where --allow-unsandboxed was given and is forbidden.
 */
int bare_decide(const struct policy *policy, const struct options *options,
		char *const *argv, char **ret_why, struct err *err);

/* Whether to go on without a sandbox because it could not be built, for which
 * @err has the reason: 1 or 0
 */
int bare_instead(const struct policy *policy, const struct options *options,
		 const struct err *err);

/* Say why and become @argv, in the policy's start directory. Returns only on
 * failure: 126 or 127, said so; or a negative errno with words.
 */
int bare_exec(const struct policy *policy, const struct options *options,
	      char *const *argv, const char *why, struct err *err);

#endif /* LIB_BARE_H */
