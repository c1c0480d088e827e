/* SPDX-License-Identifier: Apache-2.0 */
/* lib/walked.h - what is known of a project's directories, kept between runs
 *
 * In the cache directory, which no command can see. A home without one keeps
 * none.
 */

#ifndef LIB_WALKED_H
#define LIB_WALKED_H

struct policy;
struct walk_cache;

/* What is known of the project that @policy is for, or NULL */
struct walk_cache *walked_open(const struct policy *policy);

/* Keep it for the next run, if that is worth it; @cache may be NULL */
void walked_keep(const struct policy *policy, struct walk_cache *cache);

#endif /* LIB_WALKED_H */
