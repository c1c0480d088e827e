/* SPDX-License-Identifier: Apache-2.0 */
/* policy/number.h - numbers as settings write them */

#ifndef POLICY_NUMBER_H
#define POLICY_NUMBER_H

#include <jansson.h>
#include <stdint.h>

#include "policy/schema.h"

/* The number that @value means as a @type of the schema: sizes in bytes,
 * durations in milliseconds. 0, or -EINVAL with *@ret untouched.
 */
int number_of(enum setting_type type, const json_t *value, uint64_t *ret);

#endif /* POLICY_NUMBER_H */
