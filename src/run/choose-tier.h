/* SPDX-License-Identifier: Apache-2.0 */
/* run/choose-tier.h - which tier a run gets, and when a weaker one is accepted */

#ifndef RUN_CHOOSE_TIER_H
#define RUN_CHOOSE_TIER_H

#include <stdbool.h>

#include "plan/tier.h"

struct err;
struct machine;
struct options;
struct policy;
struct plan;

/* From --tier and minimumTier. 0; or -EINVAL, -EPERM or -EOPNOTSUPP with
 * words: the option is wrong, the policy forbids it, the tier cannot do what
 * the policy wants.
 */
int tier_choose(const struct options *options, const struct policy *policy,
		const struct machine *machine, enum tier *ret,
		struct err *err);

/* The full tier could not be built, for the reason in @err. True if the machine
 * is to blame and policy and options accept the landlock tier: then @err is
 * the line to say before trying that. Otherwise @err is the error to end with.
 */
bool tier_falls_back(const struct options *options, const struct plan *plan,
		     struct err *err);

/* A sandbox of ours is around this process, and confines it as ours do */
bool tier_is_nested(void);
/* A sandbox of ours, of any tier, holds this process: stand-ins and agents' helpers run
 * the command as it is
 */
bool tier_steps_aside(void);

/* What is in the message of tier_falls_back() where the reason is a sandbox of ours */
#define TIER_NESTED_WORDS "this runs in a cloche sandbox"

#endif /* RUN_CHOOSE_TIER_H */
