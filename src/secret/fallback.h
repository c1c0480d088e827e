/* SPDX-License-Identifier: Apache-2.0 */
/* secret/fallback.h - two stores as one: the best, and the one that works
 *
 * The rules are in secret/fallback-plan.h. Fallbacks nest: the second store
 * may be one.
 */

#ifndef SECRET_FALLBACK_H
#define SECRET_FALLBACK_H

struct backend;
struct claim_ops;

/* Takes both backends over; @claim_arg stays the caller's and outlives it */
struct backend *fallback_new(struct backend *first, struct backend *second,
			     const struct claim_ops *claim, void *claim_arg);

#endif /* SECRET_FALLBACK_H */
