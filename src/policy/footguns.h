/* SPDX-License-Identifier: Apache-2.0 */
/* policy/footguns.h - settings that are valid and probably not meant
 *
 * Inside of policy/.
 */

#ifndef POLICY_FOOTGUNS_H
#define POLICY_FOOTGUNS_H

struct facts;
struct policy;

/* Note what `cloche policy check` should warn about */
void footguns_note(const struct facts *facts, const struct policy *policy);

#endif /* POLICY_FOOTGUNS_H */
